/** The node `Waypost` with a started server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import type { IDataObject, INodeExecutionData } from 'n8n-workflow';

import { Waypost as WaypostNode } from '../nodes/Waypost/Waypost.node';
import { LINK_FIELDS, LINK_OPERATIONS } from '../nodes/Waypost/linkProperties';
import { STATISTICS_FIELDS } from '../nodes/Waypost/statisticsProperties';
import { Waypost } from './instance';
import { executing } from './n8n';

const HERE = 'https://example.com/here';
let waypost: Waypost;
before(async () => {
	waypost = await Waypost.start();
});
after(async () => await waypost.stop());

async function run(items: IDataObject[], goesOn = false, key = waypost.key): Promise<INodeExecutionData[]> {
	const node = executing({ url: `${waypost.url}/`, apiKey: key }, items, goesOn);
	const [made] = await new WaypostNode().execute.call(node);
	return made!;
}

async function one(parameters: IDataObject): Promise<IDataObject> {
	const [first, ...more] = await run([{ resource: 'link', ...parameters }]);
	assert.deepEqual([more, first!.pairedItem], [[], { item: 0 }]);
	return first!.json;
}

test('a link from its creation to its deletion', async () => {
	const fields = { url: 'spring', title: 'Spring', tags: ' a, b,', clicks_limit: 5 };
	const made = await one({ operation: 'create', locationUrl: HERE, fields });
	assert.deepEqual(
		[made.short_url, made.location_url, made.tags, made.clicks_limit],
		[`${waypost.url}/spring`, HERE, ['a', 'b'], 5],
	);
	const linkId = made.id;
	const changed = await one({ operation: 'update', linkId, fields: { title: '', clicks_limit: 0 } });
	assert.deepEqual([changed.title, changed.clicks_limit, changed.tags], [null, null, ['a', 'b']]);
	assert.deepEqual((await one({ operation: 'get', linkId })).url, 'spring');
	assert.deepEqual(await one({ operation: 'delete', linkId }), { id: linkId, deleted: true });
	await assert.rejects(one({ operation: 'get', linkId }), { httpCode: '404' });
});

test('many links, in pages, as many as wanted', async () => {
	const items = Array.from({ length: 3 }, (_, number) => ({
		resource: 'link',
		operation: 'create',
		locationUrl: `${HERE}/${number}`,
		fields: { tags: 'many' },
	}));
	assert.equal((await run(items)).length, 3);
	const all = { resource: 'link', operation: 'getAll', returnAll: true, filters: { tag: 'many' } };
	assert.deepEqual(
		(await run([all])).map(({ json }) => json.location_url),
		[`${HERE}/0`, `${HERE}/1`, `${HERE}/2`],
	);
	const some = { ...all, returnAll: false, limit: 2, filters: { tag: 'many', order_type: 'DESC' } };
	assert.deepEqual(
		(await run([some])).map(({ json }) => json.location_url),
		[`${HERE}/2`, `${HERE}/1`],
	);
});

test('QR codes and statistics', async () => {
	const { id: linkId } = await one({ operation: 'create', locationUrl: HERE });
	for (const [format, start] of [
		['png', '\x89PNG'],
		['svg', '<'],
	]) {
		const qr = { resource: 'link', operation: 'qr', linkId, format, size: 256, binaryPropertyName: 'qr' };
		const [made] = await run([qr]);
		const file = made!.binary!.qr!;
		assert.equal(Buffer.from(file.data, 'base64').toString('latin1').slice(0, start!.length), start);
		assert.equal(file.fileName, `qr-${String(linkId)}.${format}`);
	}
	const days = { start_date: '2026-01-01', end_date: '2026-01-03', timezone: '' };
	for (const of of ['all', 'link']) {
		const rows = await run([{ resource: 'statistics', operation: 'get', of, linkId, type: 'overview', days }]);
		assert.deepEqual(rows[0]!.json, { formatted_date: '2026-01-01', pageviews: 0, visitors: 0 });
		assert.equal(rows.length, 3);
	}
});

test('what is refused says every bad field, and others go on', async () => {
	const bad = { resource: 'link', operation: 'create', locationUrl: 'nowhere', fields: { clicks_limit: -1 } };
	await assert.rejects(run([bad]), (error: IDataObject) => {
		assert.equal(error.httpCode, '422');
		assert.match(String(error.description), /location_url: .*\nclicks_limit: |clicks_limit: .*\nlocation_url: /);
		return true;
	});
	const good = { resource: 'link', operation: 'create', locationUrl: HERE };
	const [failed, made] = await run([bad, good], true);
	assert.match(String(failed!.json.error), /location_url|clicks_limit/);
	assert.deepEqual([made!.pairedItem, made!.json.location_url], [{ item: 1 }, HERE]);
	await assert.rejects(run([good], false, waypost.readingKey), { httpCode: '403' });
	const created = await run([good], false, waypost.creatingKey); // all that such a key may do
	assert.equal(created[0]!.json.location_url, HERE);
	await assert.rejects(run([good], false, 'wp_wrong'), { httpCode: '401' });
});

test('its fields are those of the API', async () => {
	const openapi = (await (await fetch(`${waypost.url}/api/openapi.json`)).json()) as OpenApi;
	const { schema } = openapi.paths['/links/{id}'].post.requestBody.content['application/json'];
	const accepted = Object.keys((schema.$ref ? openapi.components.schemas[schema.$ref.split('/').pop()!]! : schema).properties);
	const ours = LINK_FIELDS.find(({ name }) => name === 'fields')!.options!.map(({ name }) => name);
	assert.deepEqual(ours.filter((name) => !accepted.includes(name)), []);
	const types = STATISTICS_FIELDS.find(({ name }) => name === 'type')!.options!.map((of) => (of as { value: string }).value);
	const told = openapi.paths['/statistics'].get.parameters.find(({ name }) => name === 'type')!;
	assert.deepEqual([...types].sort(), told.schema.enum.filter(Boolean).sort()); // an empty one is none
	const operations = LINK_OPERATIONS[0]!.options!.map((of) => (of as { value: string }).value);
	assert.deepEqual(operations.sort(), ['create', 'delete', 'get', 'getAll', 'qr', 'update']);
});

interface OpenApi {
	components: { schemas: Record<string, { properties: object }> };
	paths: {
		'/links/{id}': { post: { requestBody: { content: { 'application/json': { schema: { $ref?: string; properties: object } } } } } };
		'/statistics': { get: { parameters: { name: string; schema: { enum: string[] } }[] } };
	};
}
