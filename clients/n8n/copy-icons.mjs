// Puts the icons where the compiled nodes look for them.
import { copyFileSync, readdirSync } from 'node:fs';

const FROM = 'nodes/Waypost';
for (const name of readdirSync(FROM).filter((one) => one.endsWith('.svg'))) {
	copyFileSync(`${FROM}/${name}`, `dist/${FROM}/${name}`);
}
