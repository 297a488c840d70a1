import { createHmac, timingSafeEqual } from 'crypto';

const TOLERANCE_SECONDS = 5 * 60;
const PREFIX = 'whsec_';

/** Whether these headers sign this body by this secret (Standard Webhooks), and are not old. */
export function isSigned(
	secret: string,
	headers: Readonly<Record<string, unknown>>,
	body: Buffer,
	now = Date.now(),
): boolean {
	const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`]);
	if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
	if (!/^\d{1,12}$/.test(timestamp)) return false;
	if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
	const key = Buffer.from(secret.slice(secret.startsWith(PREFIX) ? PREFIX.length : 0), 'base64');
	const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
	return signatures.split(' ').some((one) => {
		const [version, text = ''] = one.split(',');
		const given = Buffer.from(text, 'base64');
		return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
	});
}
