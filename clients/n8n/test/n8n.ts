/**
 * What n8n gives a node while it runs, as far as these nodes use it: parameters, credentials applied to real HTTP
 * requests, static data, and a webhook that really listens.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import type {
	IDataObject,
	IExecuteFunctions,
	IHookFunctions,
	IHttpRequestOptions,
	INode,
	INodeExecutionData,
	IWebhookFunctions,
	JsonObject,
} from 'n8n-workflow';
import { NodeApiError } from 'n8n-workflow';

import { WaypostApi } from '../credentials/WaypostApi.credentials';
import { WaypostTrigger } from '../nodes/Waypost/WaypostTrigger.node';

const NODE = { id: '1', name: 'Waypost', type: 'waypost', typeVersion: 1, position: [0, 0], parameters: {} } as INode;

export interface Credentials extends IDataObject {
	url: string;
	apiKey: string;
}

/** Sends a request as n8n does: with the credential's headers, and an error of n8n where it is refused. */
async function request(credentials: Credentials, options: IHttpRequestOptions): Promise<unknown> {
	const { headers = {} } = new WaypostApi().authenticate.properties;
	const filled = Object.entries(headers).map(([name, text]) => [
		name,
		String(text).replace(/^=/, '').replace(/\{\{\$credentials\.(\w+)\}\}/g, (_, key: string) => String(credentials[key])),
	]);
	const url = new URL(options.url);
	for (const [name, value] of Object.entries(options.qs ?? {})) url.searchParams.set(name, String(value));
	const answer = await fetch(url, {
		method: options.method,
		headers: {
			...Object.fromEntries(filled),
			...(options.headers as Record<string, string>),
			...(options.body ? { 'content-type': 'application/json' } : {}),
		},
		body: options.body ? JSON.stringify(options.body) : undefined,
	});
	if (!answer.ok) {
		const response = { status: answer.status, data: await answer.json() };
		const error = Object.assign(new Error(`Request failed with status code ${answer.status}`), { response });
		throw new NodeApiError(NODE, error as unknown as JsonObject);
	}
	if (options.encoding === 'arraybuffer') return Buffer.from(await answer.arrayBuffer());
	const text = await answer.text();
	return text ? JSON.parse(text) : '';
}

function shared(credentials: Credentials) {
	return {
		getNode: () => NODE,
		getCredentials: async () => credentials,
		helpers: {
			httpRequestWithAuthentication: async (_name: string, options: IHttpRequestOptions) =>
				await request(credentials, options),
			prepareBinaryData: async (data: Buffer, fileName: string, mimeType: string) => ({
				data: data.toString('base64'),
				fileName,
				mimeType,
			}),
		},
	};
}

/** Runs the node `Waypost` once for each item's parameters; returns what it gives on. */
export function executing(credentials: Credentials, items: IDataObject[], goesOn = false): IExecuteFunctions {
	return {
		...shared(credentials),
		getInputData: () => items.map((json) => ({ json })),
		getNodeParameter: (name: string, item: number, fallback?: unknown) => items[item]?.[name] ?? fallback,
		continueOnFail: () => goesOn,
	} as unknown as IExecuteFunctions;
}

/** A workflow with the trigger: n8n's side of a subscription, with its own address on this machine. */
export class Workflow {
	readonly node = new WaypostTrigger();
	readonly items: INodeExecutionData[] = [];
	readonly statuses: number[] = [];
	readonly data: IDataObject = {};
	/** How often the workflow was started. */
	runs = 0;
	/** Answers that n8n's host gives by itself, before the node is asked. */
	outage = 0;
	private server!: Server;
	private url!: string;

	constructor(
		private readonly credentials: Credentials,
		private readonly parameters: IDataObject,
	) {}

	async listen(): Promise<this> {
		this.server = createServer((incoming, answer) => void this.receive(incoming, answer));
		await new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
		const { port } = this.server.address() as { port: number };
		this.url = `http://127.0.0.1:${port}/webhook/1`;
		return this;
	}

	/** What n8n does when a workflow is activated. */
	async activate(): Promise<void> {
		const { checkExists, create } = this.node.webhookMethods.default;
		if (!(await checkExists.call(this.hook()))) await create.call(this.hook());
	}

	async deactivate(): Promise<boolean> {
		return await this.node.webhookMethods.default.delete.call(this.hook());
	}

	async close(): Promise<void> {
		const closed = new Promise((done) => this.server.close(done));
		this.server.closeAllConnections();
		await closed;
	}

	hook(): IHookFunctions {
		return {
			...shared(this.credentials),
			getNodeParameter: (name: string, fallback?: unknown) => this.parameters[name] ?? fallback,
			getNodeWebhookUrl: () => this.url,
			getWorkflow: () => ({ id: '1', name: 'Tell me', active: true }),
			getWorkflowStaticData: () => this.data,
		} as unknown as IHookFunctions;
	}

	private async receive(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
		const chunks: Buffer[] = [];
		for await (const chunk of incoming) chunks.push(chunk as Buffer);
		if (this.outage > 0) {
			this.outage -= 1;
			answer.writeHead(503).end();
			return;
		}
		const status = await this.deliver(incoming.headers, Buffer.concat(chunks));
		answer.writeHead(status).end();
	}

	/** Hands a request to the node; the status with which n8n answers. */
	async deliver(headers: object, rawBody: Buffer): Promise<number> {
		let status = 200;
		const response = {
			status: (code: number) => {
				status = code;
				return { json: () => undefined };
			},
		};
		const found = await this.node.webhook.call({
			...shared(this.credentials),
			getWorkflowStaticData: () => this.data,
			getHeaderData: () => headers,
			getBodyData: () => JSON.parse(rawBody.toString()) as IDataObject,
			getRequestObject: () => ({ rawBody, readRawBody: async () => undefined }),
			getResponseObject: () => response,
		} as unknown as IWebhookFunctions);
		if (found.workflowData) {
			this.runs += 1;
			this.items.push(...found.workflowData.flat());
		}
		this.statuses.push(status);
		return status;
	}
}
