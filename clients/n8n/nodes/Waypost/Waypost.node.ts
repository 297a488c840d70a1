import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
	JsonObject,
} from 'n8n-workflow';
import { NodeApiError, NodeConnectionTypes } from 'n8n-workflow';

import { LINK_FIELDS, LINK_OPERATIONS } from './linkProperties';
import { callWaypost, dataOf } from './request';
import { STATISTICS_FIELDS, STATISTICS_OPERATIONS } from './statisticsProperties';

type Answer = INodeExecutionData[];
type Operation = (node: IExecuteFunctions, item: number) => Promise<Answer>;

const WHOLE = { Prefer: 'return=representation' };
const PAGE = 1000;

/** Makes, reads, changes and deletes short links; reads statistics; draws QR codes. */
export class Waypost implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Waypost',
		name: 'waypost',
		icon: { light: 'file:waypost.svg', dark: 'file:waypost.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
		description: 'Make and change short links, and read their statistics',
		defaults: { name: 'Waypost' },
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		usableAsTool: true,
		credentials: [{ name: 'waypostApi', required: true }],
		properties: [
			{
				displayName: 'Resource',
				name: 'resource',
				type: 'options',
				noDataExpression: true,
				options: [
					{ name: 'Link', value: 'link' },
					{ name: 'Statistic', value: 'statistics' },
				],
				default: 'link',
			},
			...LINK_OPERATIONS,
			...STATISTICS_OPERATIONS,
			...LINK_FIELDS,
			...STATISTICS_FIELDS,
		],
	};

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const made: INodeExecutionData[] = [];
		for (const item of this.getInputData().keys()) {
			const resource = this.getNodeParameter('resource', item) as string;
			const operation = this.getNodeParameter('operation', item) as string;
			try {
				const answer = await OPERATIONS[`${resource} ${operation}`]!(this, item);
				made.push(...answer.map((one) => ({ ...one, pairedItem: { item } })));
			} catch (error) {
				if (!this.continueOnFail()) throw new NodeApiError(this.getNode(), error as JsonObject);
				const { message, description } = error as IDataObject;
				made.push({ json: { error: message, description }, pairedItem: { item } });
			}
		}
		return [made];
	}
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
	'link create': async (node, item) => {
		const body = { location_url: node.getNodeParameter('locationUrl', item), ...fieldsOf(node, item) };
		return [await writeLink(node, '/links', body as IDataObject)];
	},
	'link get': async (node, item) => [asItem(await callWaypost(node, 'GET', `/links/${idOf(node, item)}`))],
	'link getAll': async (node, item) => (await readLinks(node, item)).map((json) => ({ json })),
	'link update': async (node, item) => [
		await writeLink(node, `/links/${idOf(node, item)}`, fieldsOf(node, item)),
	],
	'link delete': async (node, item) => {
		const id = idOf(node, item);
		await callWaypost(node, 'DELETE', `/links/${id}`);
		return [{ json: { id, deleted: true } }];
	},
	'link qr': drawQr,
	'statistics get': readStatistics,
};

function asItem(answer: unknown): INodeExecutionData {
	return { json: dataOf<IDataObject>(answer) };
}

function idOf(node: IExecuteFunctions, item: number): number {
	return node.getNodeParameter('linkId', item) as number;
}

async function writeLink(node: IExecuteFunctions, path: string, body: IDataObject): Promise<INodeExecutionData> {
	return asItem(await callWaypost(node, 'POST', path, { body, headers: WHOLE }));
}

/** The chosen fields under the API's names. A list is typed with commas; an empty text clears a field. */
function fieldsOf(node: IExecuteFunctions, item: number): IDataObject {
	const { tags, ...fields } = node.getNodeParameter('fields', item, {}) as IDataObject;
	return tags === undefined ? fields : { ...fields, tags: separated(String(tags)) };
}

function separated(text: string): string[] {
	return text.split(',').map((one) => one.trim()).filter(Boolean);
}

async function readLinks(node: IExecuteFunctions, item: number): Promise<IDataObject[]> {
	const limit = node.getNodeParameter('returnAll', item) ? Infinity : (node.getNodeParameter('limit', item) as number);
	const filters = node.getNodeParameter('filters', item, {}) as IDataObject;
	const found: IDataObject[] = [];
	for (let page = 1; found.length < limit; page += 1) {
		const qs = { ...filters, page, results_per_page: PAGE };
		const answer = (await callWaypost(node, 'GET', '/links', { qs })) as {
			data: IDataObject[];
			links: { next: string | null };
		};
		found.push(...answer.data);
		if (!answer.links.next) break;
	}
	return found.slice(0, limit);
}

async function drawQr(node: IExecuteFunctions, item: number): Promise<Answer> {
	const id = idOf(node, item);
	const format = node.getNodeParameter('format', item) as string;
	const size = node.getNodeParameter('size', item) as number;
	const field = node.getNodeParameter('binaryPropertyName', item) as string;
	const content = await callWaypost(node, 'GET', `/links/${id}/qr`, {
		qs: { format, size },
		encoding: 'arraybuffer',
		json: false,
	});
	const kind = format === 'svg' ? 'image/svg+xml' : 'image/png';
	const file = await node.helpers.prepareBinaryData(Buffer.from(content as ArrayBuffer), `qr-${id}.${format}`, kind);
	return [{ json: { id }, binary: { [field]: file } }];
}

async function readStatistics(node: IExecuteFunctions, item: number): Promise<Answer> {
	const ofOne = node.getNodeParameter('of', item) === 'link';
	const type = node.getNodeParameter('type', item) as string;
	const days = node.getNodeParameter('days', item, {}) as IDataObject;
	const given = Object.fromEntries(Object.entries(days).filter(([, value]) => value !== ''));
	const path = ofOne ? `/statistics/${idOf(node, item)}` : '/statistics';
	const answer = await callWaypost(node, 'GET', path, { qs: { type, ...given } });
	return dataOf<IDataObject[]>(answer).map((json) => ({ json }));
}
