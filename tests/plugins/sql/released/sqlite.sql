CREATE TABLE a2a_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT a2a_schema_pkc PRIMARY KEY (version_num)
);
CREATE TABLE a2a_tasks (
	agent TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	id TEXT NOT NULL, 
	context TEXT NOT NULL, 
	state SMALLINT NOT NULL, 
	changed BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	previous BIGINT NOT NULL, 
	process VARCHAR(36), 
	epoch INTEGER NOT NULL, 
	owner_name BLOB NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (agent, owner, id)
);
CREATE INDEX a2a_tasks_newest ON a2a_tasks (agent, owner, changed, id);
CREATE INDEX a2a_tasks_context ON a2a_tasks (agent, owner, context, changed, id);
CREATE INDEX a2a_tasks_state ON a2a_tasks (agent, owner, state, changed, id);
CREATE INDEX a2a_tasks_process ON a2a_tasks (process);
CREATE INDEX a2a_tasks_changed ON a2a_tasks (agent, changed);
CREATE TABLE a2a_messages (
	agent TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	id TEXT NOT NULL, 
	task TEXT NOT NULL, 
	digest BLOB NOT NULL, 
	accepted BIGINT NOT NULL, 
	PRIMARY KEY (agent, owner, id)
);
CREATE INDEX a2a_messages_accepted ON a2a_messages (accepted);
CREATE TABLE a2a_processes (
	id VARCHAR(36) NOT NULL, 
	name TEXT NOT NULL, 
	lease_until FLOAT NOT NULL, taken TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE a2a_states (
	agent TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	context TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	changed BIGINT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (agent, owner, context, kind)
);
CREATE INDEX a2a_states_changed ON a2a_states (changed);
CREATE TABLE a2a_push_configs (
	agent TEXT NOT NULL, 
	task TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	config TEXT NOT NULL, 
	body BLOB NOT NULL, 
	PRIMARY KEY (agent, task, owner, config)
);
CREATE TABLE a2a_push_outbox (
	agent TEXT NOT NULL, 
	task TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	config TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	process VARCHAR(36) NOT NULL, 
	task_name BLOB NOT NULL, 
	owner_name BLOB NOT NULL, 
	config_name BLOB NOT NULL, 
	PRIMARY KEY (agent, task, owner, config)
);
CREATE INDEX a2a_push_outbox_process ON a2a_push_outbox (agent, process);
CREATE INDEX a2a_tasks_open ON a2a_tasks (context) WHERE process IS NOT NULL;
CREATE INDEX a2a_tasks_waiting ON a2a_tasks (agent, changed) WHERE process IS '';
INSERT INTO a2a_schema VALUES ('0005');
