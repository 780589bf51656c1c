// What OmniRoute uses and Node.js 20 does not have, although it says that this is enough.

require('node:worker_threads').markAsUncloneable ??= () => {};
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new this((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
};
