// n8n's own rules for community nodes: those of its two plugins, as its command-line tool applies them.
import { n8nCommunityNodesPlugin } from '@n8n/eslint-plugin-community-nodes';
import n8nNodesBase from 'eslint-plugin-n8n-nodes-base';
import tseslint from 'typescript-eslint';

const { community, credentials, nodes } = n8nNodesBase.configs;
const legacy = { 'n8n-nodes-base': n8nNodesBase };

export default tseslint.config(
	{ ignores: ['build', 'dist', 'node_modules'] },
	tseslint.configs.strict,
	{
		rules: {
			'@typescript-eslint/no-non-null-assertion': 'off', // what the next line would fail at anyway
		},
	},
	{ files: ['{credentials,nodes}/**/*.ts', 'package.json'], extends: [n8nCommunityNodesPlugin.configs.recommended] },
	{
		// whoever publishes the package fills these in: the project has no public address yet
		files: ['package.json'],
		rules: { '@n8n/community-nodes/require-homepage': 'off', '@n8n/community-nodes/valid-author': 'off' },
	},
	{
		files: ['package.json'],
		plugins: legacy,
		languageOptions: { parser: tseslint.parser, parserOptions: { extraFileExtensions: ['.json'] } },
		rules: {
			...community.rules,
			...tseslint.configs.disableTypeChecked.rules,
			'@typescript-eslint/no-unused-expressions': 'off',
			'n8n-nodes-base/community-package-json-author-email-missing': 'off',
			'n8n-nodes-base/community-package-json-repository-url-missing': 'off',
		},
	},
	{
		files: ['credentials/**/*.ts'],
		plugins: legacy,
		rules: {
			...credentials.rules,
			'n8n-nodes-base/cred-class-field-documentation-url-missing': 'off', // the project's pages have no address yet
			'@n8n/community-nodes/credential-documentation-url': 'off',
		},
	},
	{
		files: ['nodes/**/*.ts'],
		plugins: legacy,
		rules: {
			...nodes.rules,
			// the plugin of today asks for n8n's constant, which these older rules do not know
			'n8n-nodes-base/node-class-description-inputs-wrong-regular-node': 'off',
			'n8n-nodes-base/node-class-description-outputs-wrong': 'off',
		},
	},
);
