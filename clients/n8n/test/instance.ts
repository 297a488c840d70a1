/** A Waypost of one's own: the real server, from the repository that this package lies in. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const ROOT = resolve(__dirname, '../../../..');
const EMAIL = 'one@example.com';
const START_MS = 90_000;

export class Waypost {
	readonly folder = mkdtempSync(join(tmpdir(), 'waypost-n8n-'));
	readonly url: string;
	readonly key: string;
	readonly readingKey: string;
	readonly creatingKey: string;
	private readonly log = join(this.folder, 'log');
	private readonly environ: NodeJS.ProcessEnv;
	private readonly server: ChildProcess;

	private constructor(port: number) {
		this.url = `http://127.0.0.1:${port}`;
		const others = Object.entries(process.env).filter(([name]) => !name.startsWith('WAYPOST_'));
		this.environ = {
			...Object.fromEntries(others),
			WAYPOST_DATA_DIR: join(this.folder, 'data'),
			WAYPOST_PORT: String(port),
			WAYPOST_PROCESSES: '1',
			WAYPOST_ALLOW_PRIVATE_NETWORKS: '127.0.0.0/8',
		};
		this.command(['users', 'create', '--email', EMAIL, '--password-stdin'], 'five small boats go upriver\n');
		this.key = this.makeKey('write');
		this.readingKey = this.makeKey('read');
		this.creatingKey = this.makeKey('create');
		const log = openSync(this.log, 'a');
		this.server = spawn(join(ROOT, 'waypost'), ['serve'], { env: this.environ, stdio: ['ignore', log, log] });
	}

	static async start(): Promise<Waypost> {
		const made = new Waypost(await freePort());
		await until(async () => (await made.status('/readyz')) === 200, `Not ready:\n${made.logged()}`, START_MS);
		return made;
	}

	logged(): string {
		return readFileSync(this.log, 'utf8');
	}

	async stop(): Promise<void> {
		const ended = new Promise((done) => this.server.once('exit', done));
		this.server.kill('SIGTERM');
		await ended;
		rmSync(this.folder, { recursive: true });
	}

	private async status(path: string): Promise<number> {
		if (this.server.exitCode !== null) throw new Error(this.logged());
		try {
			return (await fetch(this.url + path)).status;
		} catch {
			return 0; // nobody listens yet
		}
	}

	private makeKey(scope: string): string {
		return this.command(['keys', 'create', '--email', EMAIL, '--name', scope, '--scope', scope]);
	}

	private command(words: string[], input = ''): string {
		const options = { env: this.environ, input, encoding: 'utf8' as const };
		return execFileSync(join(ROOT, 'waypost'), words, options).trim();
	}
}

/** Waits until it is so. */
export async function until(isSo: () => boolean | Promise<boolean>, said: string, ms = 30_000): Promise<void> {
	const deadline = Date.now() + ms;
	while (!(await isSo())) {
		if (Date.now() > deadline) throw new Error(said);
		await wait(50);
	}
}

export async function freePort(): Promise<number> {
	const probe = createServer();
	await new Promise<void>((done) => probe.listen(0, '127.0.0.1', done));
	const { port } = probe.address() as { port: number };
	await new Promise((done) => probe.close(done));
	return port;
}
