// The TypeScript SDK's client holds a conversation with mcpd over stdio.
// usage: node sdk.mjs MCPD SOCKET
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [command, socket] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args: ['stdio', '--socket', socket], stderr: 'inherit' });
const client = new Client({ name: 'typescript', version: '1' }, { capabilities: {} });
const unexpected = [];
// This client hears of progress one turn of its loop later than of an answer, so
// the last progress before an answer has lost its call. On the wire it came first.
client.onerror = (e) => { if (!/progress notification for an unknown token/.test(e.message)) unexpected.push(e); };

await client.connect(transport);
assert.match(client.getInstructions(), /^READ only/);
assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ['completions', 'prompts', 'resources', 'tools']);

// Every schema passes the SDK's own, which is all or nothing, and results are
// checked against the output schemas by the client.
const { tools, nextCursor } = await client.listTools();
assert.equal(tools.length, 97);
assert.equal(nextCursor, undefined);
for (const tool of tools) assert.equal(tool.annotations.readOnlyHint, true, tool.name);

const version = await client.callTool({ name: 'pfsense_get_system_version', arguments: {} });
assert.equal(version.structuredContent.object.base, '2.8.1');
const rules = await client.callTool({ name: 'pfsense_get_firewall_rules', arguments: { limit: 2, where: ['disabled = false'] } });
assert.equal(rules.structuredContent.returned, 2);
for (const name of ['pfsense_get_gateway_status', 'pfsense_get_dhcp_leases', 'pfsense_get_users', 'pfsense_mcp_info', 'pfsense_get_official_guidance']) {
  const args = name.endsWith('guidance') ? { capability: 'GATEWAY_READ' } : {};
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result));
}

const wrong = await client.callTool({ name: 'pfsense_get_firewall_rules', arguments: { filter: 'x' } });
assert.equal(wrong.isError, true);
await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), { code: -32602 });

// Many at once come back to whom they belong.
const answers = await Promise.all(Array.from({ length: 8 }, (_, i) =>
  client.callTool({ name: 'pfsense_get_firewall_rules', arguments: { limit: 1, offset: i } })));
answers.forEach((a, i) => assert.equal(a.structuredContent.rows[0].id, i));

const progress = [];
await client.callTool({ name: 'pfsense_get_firewall_states', arguments: { where: ['bytes_total > 0'] } }, undefined, { onprogress: (p) => progress.push(p) });
assert.ok(progress.every((p) => p.progress >= 0));

const { resources } = await client.listResources();
assert.deepEqual(resources.map((r) => r.uri), ['pfsense://tools']);
const { resourceTemplates } = await client.listResourceTemplates();
assert.equal(resourceTemplates.length, 3);
const page = await client.readResource({ uri: 'pfsense://privileges/auditor' });
assert.match(page.contents[0].text, /94 privileges/);
await assert.rejects(client.readResource({ uri: 'pfsense://none' }), { code: -32602 });

const { prompts } = await client.listPrompts();
assert.ok(prompts.some((p) => p.name === 'first_look'));
const plan = await client.getPrompt({ name: 'what_is_about_to_expire', arguments: { days: '14' } });
assert.match(plan.messages[0].content.text, /valid_days_left < 14/);
const completion = await client.complete({ ref: { type: 'ref/resource', uri: 'pfsense://tools/{tool}' }, argument: { name: 'tool', value: 'pfsense_get_carp' } });
assert.deepEqual(completion.completion.values, ['pfsense_get_carp_status']);

await client.ping();
await client.close();
assert.deepEqual(unexpected, []);
console.log('\nall held');
