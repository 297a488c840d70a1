/** The node `Waypost Trigger`: its subscription at a started server, and what arrives. */
import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';

import type { IDataObject } from 'n8n-workflow';

import { EVENTS } from '../nodes/Waypost/triggerProperties';
import { until, Waypost } from './instance';
import { Workflow } from './n8n';

const HERE = 'https://example.com/here';
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
let waypost: Waypost;
before(async () => {
	waypost = await Waypost.start();
});
after(async () => await waypost.stop());

async function call(method: string, path: string, body?: object): Promise<{ status: number; json: Answer }> {
	const answer = await fetch(`${waypost.url}/api${path}`, {
		method,
		headers: {
			authorization: `Bearer ${waypost.key}`,
			prefer: 'return=representation',
			...(body ? { 'content-type': 'application/json' } : {}),
		},
		body: body ? JSON.stringify(body) : undefined,
	});
	const text = await answer.text();
	return { status: answer.status, json: (text ? JSON.parse(text) : {}) as Answer };
}

interface Answer {
	data: IDataObject & IDataObject[];
	errors?: IDataObject[];
}

async function makeLink(): Promise<IDataObject> {
	return (await call('POST', '/links', { location_url: HERE })).json.data;
}

async function open(link: IDataObject): Promise<void> {
	const answer = await fetch(String(link.short_url), { redirect: 'manual', headers: { 'user-agent': BROWSER } });
	assert.equal(answer.status, 302);
}

/** A workflow that listens until the test is over, also where that fails: Node.js goes on as long as one listens. */
async function workflow(of: TestContext, parameters: IDataObject): Promise<Workflow> {
	const made = await new Workflow({ url: waypost.url, apiKey: waypost.key }, parameters).listen();
	of.after(async () => await made.close());
	return made;
}

async function subscriptions(): Promise<IDataObject[]> {
	return (await call('GET', '/subscriptions')).json.data;
}

test('a workflow is told of what it subscribed to, from its activation to its end', async (of) => {
	const events = ['link.clicked', 'link.created'];
	const found = await workflow(of, { events, filters: {} });
	await found.activate();
	const [made] = await subscriptions();
	assert.deepEqual([made!.events, made!.name, made!.id], [events, 'n8n: Tell me', found.data.subscriptionId]);
	await found.activate(); // n8n starts again: the subscription is there
	assert.equal((await subscriptions()).length, 1);

	const link = await makeLink();
	await until(() => found.items.some(({ json }) => json.type === 'link.created'), 'link.created never came');
	await open(link);
	await until(() => found.items.some(({ json }) => json.type === 'link.clicked'), 'link.clicked never came');
	const click = found.items.find(({ json }) => json.type === 'link.clicked')!.json;
	assert.deepEqual([(click.link as IDataObject).id, click.destination, click.is_bot], [link.id, HERE, false]);
	assert.ok(click.id && click.timestamp);
	assert.ok(found.statuses.every((status) => status === 200));

	assert.equal(await found.deactivate(), true);
	assert.deepEqual([await subscriptions(), found.data], [[], {}]);
	assert.equal(await found.deactivate(), true); // which is no error when it is gone
});

test('a changed node subscribes anew, and one that Waypost has ended, too', async (of) => {
	const link = await makeLink();
	const parameters: IDataObject = { events: ['link.clicked'], filters: { countries: 'de, AT', every: 2 } };
	const found = await workflow(of, parameters);
	await found.activate();
	const [first] = await subscriptions();
	assert.deepEqual(
		[first!.click_filter, first!.link_id],
		[{ countries: ['AT', 'DE'], is_bot: false, every: 2, first: false }, null],
	);
	await found.activate();
	assert.deepEqual((await subscriptions()).map(({ id }) => id), [first!.id]);
	parameters.filters = { linkId: link.id, first: true };
	await found.activate();
	const [second, ...more] = await subscriptions();
	assert.deepEqual([more, second!.link_id], [[], link.id]);
	assert.notEqual(second!.id, first!.id);
	assert.equal((await call('DELETE', `/subscriptions/${String(second!.id)}`)).status, 204);
	await found.activate();
	const [third] = await subscriptions();
	assert.notEqual(third!.id, second!.id);
	await found.deactivate();
});

test('a delivery that has no or a wrong signature, or is old, starts nothing', async (of) => {
	const found = await workflow(of, { events: ['link.updated'], filters: {} });
	await found.activate();
	const body = Buffer.from(JSON.stringify({ type: 'link.updated', timestamp: 'x', data: {} }));
	const now = String(Math.floor(Date.now() / 1000));
	const wrong = { 'webhook-id': 'a', 'webhook-timestamp': now, 'webhook-signature': 'v1,AAAA' };
	for (const headers of [{}, wrong, { ...wrong, 'webhook-timestamp': '1' }, { ...wrong, 'webhook-signature': 'v2,x y' }]) {
		assert.equal(await found.deliver(headers, body), 401);
	}
	assert.equal(found.runs, 0);
	await found.deactivate();
	assert.equal(await found.deliver(wrong, body), 401); // nor does anything once it is over
});

test('a delivery whose answer was lost starts the workflow once', async (of) => {
	const found = await workflow(of, { events: ['link.created'], filters: {} });
	await found.activate();
	const kept: { headers: object; body: Buffer }[] = [];
	const deliver = found.deliver.bind(found);
	found.deliver = async (headers, body) => {
		kept.push({ headers, body });
		return await deliver(headers, body);
	};
	const link = await makeLink();
	// links that were made right before it was activated may be told, too
	const started = () => found.items.filter(({ json }) => (json.link as IDataObject).id === link.id).length;
	await until(() => started() > 0, 'it never came');
	for (const { headers, body } of kept) {
		assert.equal(await deliver(headers, body), 200);
		assert.equal(await deliver(headers, Buffer.concat([body, Buffer.from(' ')])), 401);
	}
	assert.deepEqual([started(), found.runs], [1, kept.length]);
	await found.deactivate();
});

test('what Waypost refuses is said, and nothing stays behind', async (of) => {
	const none = await workflow(of, { events: [], filters: {} });
	await assert.rejects(none.activate(), /at least one event/);
	const unknown = await workflow(of, { events: ['link.clicked'], filters: { countries: 'XX', linkId: 987_654 } });
	await assert.rejects(unknown.activate(), { httpCode: '422' });
	assert.deepEqual([await subscriptions(), unknown.data], [[], {}]);
});

test('each of its events can be subscribed to', async (of) => {
	const events = EVENTS.options!.map((of) => (of as { value: string }).value);
	const found = await workflow(of, { events, filters: {} });
	await found.activate();
	assert.deepEqual([...((await subscriptions())[0]!.events as string[])].sort(), [...events].sort());
	await found.deactivate();
});
