// Talks to an agent that repeats what it is told: node check.mjs 1.0|0.3 BINDING URL

import assert from 'node:assert/strict';

const [generation, binding, url] = process.argv.slice(2);
const sdk = await import(`a2a-${generation}`);
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await import(
  `a2a-${generation}/client`
);
const { GrpcTransportFactory } = await import(`a2a-${generation}/client/grpc`);

const transports = {
  JSONRPC: JsonRpcTransportFactory,
  'HTTP+JSON': RestTransportFactory,
  GRPC: GrpcTransportFactory,
};
const factory = new ClientFactory({ transports: [new transports[binding]()] });
const client = await factory.createFromUrl(url);

const text = 'eins \u2028 zwei "drei"';
const message = { messageId: 'm1', role: 'user', kind: 'message', parts: [{ kind: 'text', text }] };
const params =
  generation === '1.0'
    ? sdk.SendMessageRequest.fromJSON({
        message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text }] },
      })
    : { message };

const sent = await client.sendMessage(params);
assert.ok(JSON.stringify(sent.artifacts).includes(JSON.stringify(text).slice(1, -1)));

const events = [];
for await (const event of client.sendMessageStream(params)) {
  events.push(JSON.stringify(event));
}
assert.ok(events.length >= 3, 'a task, an artifact, a status');
assert.ok(events.some((event) => event.includes(JSON.stringify(text).slice(1, -1))));

const got = await client.getTask({ id: sent.id, tenant: '' });
assert.deepEqual(got.artifacts, sent.artifacts);

const unknown = { id: 'none', tenant: '' };
await assert.rejects(client.getTask(unknown), /not found/i);
await assert.rejects(async () => {
  for await (const event of client.resubscribeTask(unknown)) assert.fail(event);
}, /not found/i);
