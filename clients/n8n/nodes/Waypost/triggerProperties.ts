import type { INodeProperties } from 'n8n-workflow';

export const EVENTS: INodeProperties = {
	displayName: 'Events',
	name: 'events',
	type: 'multiOptions',
	required: true,
	default: ['link.clicked'],
	description: 'What starts the workflow',
	options: [
		{ name: 'Click Limit Reached', value: 'link.clicks_limit_reached' },
		{ name: 'Destination Failing', value: 'link.destination_failing' },
		{ name: 'Destination Recovered', value: 'link.destination_recovered' },
		{ name: 'Link Clicked', value: 'link.clicked' },
		{ name: 'Link Created', value: 'link.created' },
		{ name: 'Link Deleted', value: 'link.deleted' },
		{ name: 'Link Ended', value: 'link.ended' },
		{ name: 'Link Restored', value: 'link.restored' },
		{ name: 'Link Started', value: 'link.started' },
		{ name: 'Link Updated', value: 'link.updated' },
	],
};

export const FILTERS: INodeProperties[] = [
	{
		displayName: 'Filters',
		name: 'filters',
		type: 'collection',
		placeholder: 'Add Filter',
		default: {},
		options: [
			{
				displayName: 'Clicks From Countries',
				name: 'countries',
				type: 'string',
				default: '',
				placeholder: 'DE, AT',
				description: 'Codes of countries (ISO 3166-1); clicks from others are left out',
			},
			{
				displayName: 'Clicks of Bots Instead',
				name: 'isBot',
				type: 'boolean',
				default: false,
				description: 'Whether clicks of bots are told, and not those of people',
			},
			{
				displayName: 'Every Nth Click',
				name: 'every',
				type: 'number',
				typeOptions: { minValue: 1 },
				default: 1,
				description: 'Only each click of a link whose number is a multiple of this',
			},
			{
				displayName: 'First Click Only',
				name: 'first',
				type: 'boolean',
				default: false,
				description: 'Whether only the first click of each link is told',
			},
			{
				displayName: 'Link ID',
				name: 'linkId',
				type: 'number',
				default: 0,
				description: 'Only events of this link; 0 means all links of the workspace',
			},
		],
	},
];
