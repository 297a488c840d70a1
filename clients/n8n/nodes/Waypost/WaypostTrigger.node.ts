import type {
	IDataObject,
	IHookFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
	IWebhookFunctions,
	IWebhookResponseData,
} from 'n8n-workflow';
import { NodeConnectionTypes, NodeOperationError } from 'n8n-workflow';

import { callUnlessGone, callWaypost, dataOf } from './request';
import { isSigned } from './signature';
import { EVENTS, FILTERS } from './triggerProperties';

/** What the node remembers of its subscription; n8n keeps it with the workflow. */
interface Remembered extends IDataObject {
	subscriptionId?: number;
	secret?: string;
	/** The latest deliveries: one whose answer was lost comes again under the same id. */
	seen?: string[];
}

interface Subscription {
	id: number;
	target_url: string;
	secret: string;
	events: string[];
	link_id: number | null;
	click_filter: IDataObject | null;
	is_enabled: boolean;
}

const MAX_SEEN = 200;

/** Starts a workflow when something happens to links: subscribes when it is activated, and ends that after. */
export class WaypostTrigger implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Waypost Trigger',
		name: 'waypostTrigger',
		icon: { light: 'file:waypost.svg', dark: 'file:waypost.dark.svg' },
		group: ['trigger'],
		version: 1,
		subtitle: '={{$parameter["events"].join(", ")}}',
		description: 'Starts the workflow when a short link is clicked or changed',
		defaults: { name: 'Waypost Trigger' },
		inputs: [],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'waypostApi', required: true }],
		webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
		properties: [EVENTS, ...FILTERS],
	};

	webhookMethods = {
		default: {
			async checkExists(this: IHookFunctions): Promise<boolean> {
				const remembered = rememberedBy(this);
				if (!remembered.subscriptionId || !remembered.secret) return false;
				const found = await readSubscription(this, remembered.subscriptionId);
				if (found && isWhatIsWanted(this, found)) return true;
				if (found) await endSubscription(this, found.id);
				forget(remembered);
				return false;
			},

			async create(this: IHookFunctions): Promise<boolean> {
				const answer = await callWaypost(this, 'POST', '/subscriptions', {
					body: wantedSubscription(this),
					headers: { Prefer: 'return=representation' },
				});
				const { id, secret } = dataOf<Subscription>(answer);
				Object.assign(rememberedBy(this), { subscriptionId: id, secret, seen: [] });
				return true;
			},

			async delete(this: IHookFunctions): Promise<boolean> {
				const remembered = rememberedBy(this);
				if (remembered.subscriptionId) await endSubscription(this, remembered.subscriptionId);
				forget(remembered);
				return true;
			},
		},
	};

	async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
		const remembered = this.getWorkflowStaticData('node') as Remembered;
		const request = this.getRequestObject();
		if (!request.rawBody) await request.readRawBody();
		const headers = this.getHeaderData() as Readonly<Record<string, unknown>>;
		if (!remembered.secret || !isSigned(remembered.secret, headers, request.rawBody)) {
			this.getResponseObject().status(401).json({ message: 'The signature is missing or wrong.' });
			return { noWebhookResponse: true };
		}
		const delivery = String(headers['webhook-id']);
		const seen = remembered.seen ?? [];
		if (seen.includes(delivery)) return { webhookResponse: 'OK' }; // received before: starts nothing
		remembered.seen = [...seen, delivery].slice(-MAX_SEEN);
		return { workflowData: [itemsOf(this.getBodyData())] };
	}
}

function rememberedBy(node: IHookFunctions): Remembered {
	return node.getWorkflowStaticData('node') as Remembered;
}

function forget(remembered: Remembered): void {
	delete remembered.subscriptionId;
	delete remembered.secret;
	delete remembered.seen;
}

/** The subscription, or nothing: it was ended, or Waypost gave it up. */
async function readSubscription(node: IHookFunctions, id: number): Promise<Subscription | undefined> {
	const found = await callUnlessGone(node, 'GET', `/subscriptions/${id}`);
	return found === undefined ? undefined : dataOf<Subscription>(found);
}

async function endSubscription(node: IHookFunctions, id: number): Promise<void> {
	await callUnlessGone(node, 'DELETE', `/subscriptions/${id}`);
}

function isWhatIsWanted(node: IHookFunctions, found: Subscription): boolean {
	const wanted = wantedSubscription(node);
	return (
		found.is_enabled &&
		found.target_url === wanted.target_url &&
		found.link_id === (wanted.link_id ?? null) &&
		isSame([...found.events].sort(), [...(wanted.events as string[])].sort()) &&
		isSame(comparable(found.click_filter), comparable(wanted.click_filter as IDataObject | undefined))
	);
}

function isSame(one: unknown, other: unknown): boolean {
	return JSON.stringify(one) === JSON.stringify(other);
}

/** A filter with its defaults, in one order. */
function comparable(filter: IDataObject | null | undefined): unknown {
	if (!filter) return null;
	const countries = (filter.countries ?? []) as string[];
	const codes = countries.map((code) => code.toUpperCase()).sort();
	return [codes, filter.is_bot ?? false, filter.every ?? 1, filter.first ?? false];
}

function wantedSubscription(node: IHookFunctions): IDataObject {
	const events = node.getNodeParameter('events') as string[];
	if (!events.length) throw new NodeOperationError(node.getNode(), 'Choose at least one event.');
	const filters = node.getNodeParameter('filters', {}) as IDataObject;
	const target = node.getNodeWebhookUrl('default');
	const wanted: IDataObject = { target_url: target, events, name: nameOf(node) };
	if (filters.linkId) wanted.link_id = filters.linkId;
	if (events.includes('link.clicked')) wanted.click_filter = clickFilterOf(filters);
	return wanted;
}

function clickFilterOf(filters: IDataObject): IDataObject {
	const found: IDataObject = {};
	const countries = String(filters.countries ?? '').split(/[\s,;]+/).filter(Boolean);
	if (countries.length) found.countries = countries;
	if (filters.isBot === true) found.is_bot = true;
	if (filters.first === true) found.first = true;
	if (Number(filters.every) > 1) found.every = filters.every;
	return found;
}

function nameOf(node: IHookFunctions): string {
	const { name, id } = node.getWorkflow();
	return [...`n8n: ${name ?? id ?? 'workflow'}`].slice(0, 128).join('');
}

/** One item a click, and one for any other event. */
function itemsOf(body: IDataObject): INodeExecutionData[] {
	const { type, timestamp } = body;
	const data = (body.data ?? {}) as IDataObject;
	const told = Array.isArray(data.clicks) ? (data.clicks as IDataObject[]) : [data];
	return told.map((one) => ({ json: { type, timestamp, ...one } }));
}
