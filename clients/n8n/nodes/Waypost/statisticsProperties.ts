import type { INodeProperties } from 'n8n-workflow';

const OF_STATISTICS = { resource: ['statistics'] };

export const STATISTICS_OPERATIONS: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: OF_STATISTICS },
		options: [
			{
				name: 'Get',
				value: 'get',
				action: 'Get a statistic',
				description: 'Get clicks and visitors, one item a row',
			},
		],
		default: 'get',
	},
];

export const STATISTICS_FIELDS: INodeProperties[] = [
	{
		displayName: 'Of',
		name: 'of',
		type: 'options',
		options: [
			{ name: 'All Links', value: 'all' },
			{ name: 'One Link', value: 'link' },
		],
		default: 'link',
		displayOptions: { show: OF_STATISTICS },
	},
	{
		displayName: 'Link ID',
		name: 'linkId',
		type: 'number',
		required: true,
		default: 0,
		displayOptions: { show: { ...OF_STATISTICS, of: ['link'] } },
	},
	{
		displayName: 'By',
		name: 'type',
		type: 'options',
		options: [
			{ name: 'Browser', value: 'browser_name' },
			{ name: 'City', value: 'city_name' },
			{ name: 'Continent', value: 'continent_code' },
			{ name: 'Country', value: 'country_code' },
			{ name: 'Day', value: 'overview' },
			{ name: 'Destination', value: 'destination' },
			{ name: 'Device', value: 'device_type' },
			{ name: 'Hour', value: 'hour' },
			{ name: 'Language', value: 'browser_language' },
			{ name: 'Operating System', value: 'os_name' },
			{ name: 'Referrer', value: 'referrer_host' },
			{ name: 'Referrer With Path', value: 'referrer_path' },
			{ name: 'UTM Campaign', value: 'utm_campaign' },
			{ name: 'UTM Medium', value: 'utm_medium' },
			{ name: 'UTM Source', value: 'utm_source' },
		],
		default: 'overview',
		displayOptions: { show: OF_STATISTICS },
	},
	{
		displayName: 'Days',
		name: 'days',
		type: 'collection',
		placeholder: 'Add Day',
		default: {},
		description: 'The last 30 days unless given',
		options: [
			{
				displayName: 'First',
				name: 'start_date',
				type: 'string',
				default: '',
				placeholder: '2026-01-01',
			},
			{
				displayName: 'Last',
				name: 'end_date',
				type: 'string',
				default: '',
				placeholder: '2026-01-31',
			},
			{
				displayName: 'Time Zone',
				name: 'timezone',
				type: 'string',
				default: '',
				placeholder: 'Europe/Berlin',
				description: 'In which days begin; UTC unless given',
			},
		],
		displayOptions: { show: OF_STATISTICS },
	},
];
