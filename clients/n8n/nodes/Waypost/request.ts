import type {
	IDataObject,
	IExecuteFunctions,
	IHookFunctions,
	IHttpRequestMethods,
	IHttpRequestOptions,
	JsonObject,
} from 'n8n-workflow';
import { NodeApiError } from 'n8n-workflow';

export type Callers = IExecuteFunctions | IHookFunctions;
export type Call = Partial<Pick<IHttpRequestOptions, 'qs' | 'body' | 'headers' | 'encoding' | 'json'>>;

/** Calls the API of the instance that the credentials name; `path` begins after `/api`. */
export async function callWaypost(
	node: Callers,
	method: IHttpRequestMethods,
	path: string,
	call: Call = {},
): Promise<unknown> {
	const { url } = await node.getCredentials<{ url: string }>('waypostApi');
	const options: IHttpRequestOptions = {
		method,
		url: `${url.replace(/\/+$/, '')}/api${path}`,
		json: true,
		...call,
	};
	try {
		return await node.helpers.httpRequestWithAuthentication.call(node, 'waypostApi', options);
	} catch (error) {
		throw explained(node, error as JsonObject);
	}
}

/** The same; undefined where what the path names is not there. */
export async function callUnlessGone(
	node: Callers,
	method: IHttpRequestMethods,
	path: string,
): Promise<unknown> {
	try {
		return await callWaypost(node, method, path);
	} catch (error) {
		if ((error as NodeApiError).httpCode === '404') return undefined;
		throw new NodeApiError(node.getNode(), error as JsonObject);
	}
}

/** The error of a refused call, with what Waypost says is wrong: every bad field at once. */
function explained(node: Callers, error: JsonObject): NodeApiError {
	const problems = problemsOf(error);
	const [message] = problems;
	if (!message) return new NodeApiError(node.getNode(), error); // no answer of Waypost
	const httpCode = String(error.httpCode);
	return new NodeApiError(node.getNode(), { message, httpCode }, { message, httpCode, description: problems.join('\n') });
}

/** The errors in the answer, which n8n keeps as the context of its own error. */
function problemsOf(error: JsonObject): string[] {
	const { data } = (error.context ?? {}) as { data?: { errors?: IDataObject[] } };
	const errors = Array.isArray(data?.errors) ? data.errors : [];
	return errors.map(({ field, title }) => (field ? `${String(field)}: ${String(title)}` : String(title)));
}

/** The data of an answer of the API. */
export function dataOf<T>(answer: unknown): T {
	return (answer as { data: T }).data;
}
