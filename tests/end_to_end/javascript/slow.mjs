// The agent of examples/long_running.py on the JavaScript SDK: node slow.mjs PACKAGE
const sdk = process.argv[2];
const { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } = await import(sdk);
const {
  AgentEvent, DefaultPushNotificationSender, DefaultRequestHandler, InMemoryPushNotificationStore,
  InMemoryTaskStore,
} = await import(`${sdk}/server`);
const { UserBuilder, agentCardHandler, jsonRpcHandler } = await import(`${sdk}/server/express`);
const { default: express } = await import("express");

const executor = {
  async execute(context, bus) {
    const ids = { taskId: context.taskId, contextId: context.contextId };
    const said = context.userMessage.parts[0].content.value;
    bus.publish(AgentEvent.task(Task.fromJSON({
      id: context.taskId, contextId: context.contextId, status: { state: "TASK_STATE_SUBMITTED" },
    })));
    await new Promise((done) => setTimeout(done, 3000));
    bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({
      ...ids, artifact: { artifactId: "a1", parts: [{ text: `Found out: ${said}` }] },
    })));
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({
      ...ids, status: { state: "TASK_STATE_COMPLETED", timestamp: new Date().toISOString() },
    })));
    bus.finished();
  },
  async cancelTask() {},
};

const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}`;
  const card = AgentCard.fromJSON({
    name: "Researcher", description: "Finds things out.", version: "1.0.0",
    supportedInterfaces: [{ url: `${url}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"],
    skills: [{ id: "find", name: "Find", description: "Finds out.", tags: ["find"] }],
  });
  const configs = new InMemoryPushNotificationStore();
  const handler = new DefaultRequestHandler(
    card, new InMemoryTaskStore(), executor, undefined, configs,
    new DefaultPushNotificationSender(configs),
  );
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: handler }));
  app.use(jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
  console.error(`A2A agent at ${url}/, on the JavaScript SDK`);
});
