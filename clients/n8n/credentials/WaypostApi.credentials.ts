import type {
	IAuthenticateGeneric,
	ICredentialTestRequest,
	ICredentialType,
	Icon,
	INodeProperties,
} from 'n8n-workflow';

/** The address of an instance, and a key of its API. */
export class WaypostApi implements ICredentialType {
	name = 'waypostApi';

	displayName = 'Waypost API';

	icon: Icon = {
		light: 'file:../nodes/Waypost/waypost.svg',
		dark: 'file:../nodes/Waypost/waypost.dark.svg',
	};

	properties: INodeProperties[] = [
		{
			displayName: 'Instance URL',
			name: 'url',
			type: 'string',
			default: '',
			required: true,
			placeholder: 'https://go.example',
			description: 'The address of the dashboard, without a path',
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			required: true,
			description: 'A key with the permission "Read and write", made in the dashboard under "API keys"',
		},
	];

	authenticate: IAuthenticateGeneric = {
		type: 'generic',
		properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey}}' } },
	};

	test: ICredentialTestRequest = {
		request: { baseURL: '={{$credentials.url.replace(/\\/+$/, "")}}', url: '/api/user' },
	};
}
