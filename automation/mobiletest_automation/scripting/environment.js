// What scripts of Maestro find: output, maestro, json, relativePoint, http, faker, console and the variables.
// The value is a function that runs one script and returns the unknown names that it read and its value, as one text.
// Called without an order it returns how the promise has ended that was the value: "p" if it has not.
(function () {
  'use strict';
  const call = globalThis.__host;
  delete globalThis.__host;
  const text = String, stringify = JSON.stringify, parse = JSON.parse, evaluate = eval, Failure = Error, Promised = Promise;
  const ownKeys = Reflect.ownKeys, define = Object.defineProperty, freeze = Object.freeze;
  const wellFormed = Function.prototype.call.bind(String.prototype.toWellFormed);
  const slice = Function.prototype.call.bind(String.prototype.slice);
  const append = Function.prototype.call.bind(Array.prototype.push), select = Function.prototype.call.bind(Array.prototype.filter);
  const isIn = Function.prototype.call.bind(Set.prototype.has), valueIn = Function.prototype.call.bind(Map.prototype.get);
  const isKeyOf = Function.prototype.call.bind(Map.prototype.has);
  const then = Function.prototype.call.bind(Promise.prototype.then);
  const encode = encodeURIComponent, ceil = Math.ceil, isMissing = (key, object) => typeof key === 'string' && !(key in object);

  const fixed = new Set();
  const fix = (name, value) => {
    fixed.add(name);
    define(globalThis, name, {value, writable: false, configurable: false, enumerable: false});
  };
  const show = (value) => {
    if (typeof value === 'object' && value !== null) {
      try { return text(stringify(value)); } catch { return text(value); }
    }
    return text(value);
  };
  const ask = (name, request) => {
    const answer = parse(call(name, wellFormed(request)));
    if (answer.error !== undefined) throw new Failure(answer.error);
    return answer.value;
  };

  const say = (...values) => { ask('log', values.map(show).join(' ')); };
  const counts = {__proto__: null}, timers = {__proto__: null}, now = Date.now, nothing = () => {};
  const count = (label = 'default') => { say(`${label}: ${counts[label] = (counts[label] ?? 0) + 1}`); };
  const sayTime = (label = 'default', ...values) => {
    if (label in timers) say(`${label}: ${now() - timers[label]}ms`, ...values);
  };
  fix('console', freeze({
    log: say, info: say, warn: say, error: say, debug: say, dir: say, group: say, groupCollapsed: say,
    groupEnd: nothing, clear: nothing, count, timeLog: sayTime,
    assert: (holds, ...values) => { if (!holds) say('Assertion failed:', ...values); },
    countReset: (label = 'default') => { delete counts[label]; },
    time: (label = 'default') => { timers[label] = now(); },
    timeEnd: (label = 'default') => { sayTime(label); delete timers[label]; },
  }));
  const texts = (headers) => {
    const all = {};
    for (const name of ownKeys(headers ?? {})) all[name] = text(headers[name] ?? null);
    return all;
  };
  const fieldOf = (name, value) => {
    const file = value?.filePath ?? undefined;
    if (file === undefined) return {name, value: show(value)};
    return {name, file: text(file), media_type: value.mediaType === undefined ? undefined : text(value.mediaType)};
  };
  const request = (method, url, options) => {
    const form = options?.multipartForm ?? undefined;
    if (form === undefined) return send(method, url, options, {body: typeof options?.body === 'string' ? options.body : undefined});
    if (typeof form !== 'object' || ownKeys(form).length === 0) throw new Failure('http: multipartForm needs an object with fields');
    const fields = [];
    for (const name of ownKeys(form)) append(fields, fieldOf(text(name), form[name]));
    return send(method, url, options, {form: fields});
  };
  const send = (method, url, options, content) => ask('http', stringify({
    method: text(method), url: text(url), headers: texts(options?.headers), body: content.body, form: content.form,
  }));
  const http = {request: (url, options) => request(options?.method ?? 'GET', url, options)};
  for (const method of ['get', 'post', 'put', 'delete']) {
    http[method] = (url, options) => request(method.toUpperCase(), url, options);
  }
  fix('http', freeze(http));
  const drawn = (name) => (...values) => ask('faker', stringify([name, ...values]));
  const kinds = (kind) => (...values) => {
    if (values.length > 0) return drawn(kind)(...values);
    return new Proxy({}, {get: (_, name) => drawn(`${kind}.${text(name)}`)});
  };
  fix('faker', new Proxy({}, {get: (_, kind) => kinds(text(kind))}));
  let output = {};
  fixed.add('output');
  define(globalThis, 'output', {get: () => output, set: (value) => { output = value; }, configurable: false, enumerable: false});
  const maestro = {copiedText: undefined, platform: undefined};
  fix('maestro', maestro);
  fix('json', (source) => parse(source));
  fix('relativePoint', (x, y) => `${ceil(x * 100)}%,${ceil(y * 100)}%`);

  // An unknown name is undefined, and is remembered, in ASCII: the host counts other characters differently.
  let missing = '', settled = '';
  Object.setPrototypeOf(globalThis, new Proxy(Object.prototype, {
    has: () => true,
    get(target, key) {
      if (isMissing(key, target) && missing.length < 500) missing += encode(wellFormed(key)) + ' ';
      return target[key];
    },
  }));

  const standard = new Map(ownKeys(globalThis).map((key) => [key, globalThis[key]]));
  let variables = {}, names = [], expected = [];
  const reset = (next) => {
    const keys = ownKeys(globalThis);
    if (next !== variables || !isExpected(keys)) {
      clean(keys);
      variables = next;
      names = select(ownKeys(variables), (name) => !isIn(fixed, name));
      assign();
      expected = ownKeys(globalThis);
    } else assign();
  };
  // Additions come last among names and among symbols: looking at every key would take as long as the script.
  const isExpected = (keys) => {
    const length = keys.length;
    if (length !== expected.length || keys[0] !== expected[0]) return false;
    for (let index = length - 8; index < length; index++) if (keys[index] !== expected[index]) return false;
    return true;
  };
  const clean = (keys) => {
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index];
      if (isIn(fixed, key)) continue;
      try {
        if (!isKeyOf(standard, key)) delete globalThis[key];
        else if (key in variables) globalThis[key] = valueIn(standard, key);
      } catch { /* made permanent by a script */ }
    }
  };
  const assign = () => {
    for (let index = 0; index < names.length; index++) {
      try { globalThis[names[index]] = variables[names[index]]; } catch { /* NaN, undefined, Infinity */ }
    }
  };

  const tag = (value) => {
    if (value === null) return '0';
    switch (typeof value) {
      case 'string': return 's' + wellFormed(value);
      case 'number': case 'bigint': return 'n' + text(value);
      case 'boolean': return 'b' + value;
      case 'undefined': return 'u';
    }
    let written;
    try { written = stringify(value); } catch { /* a cycle */ }
    return 'o' + (written === undefined ? typeof value : wellFormed(text(written)));
  };
  const throwing = (error) => {
    try { return 'e' + wellFormed(stringify(describe(error))); } catch { return 'e{}'; }
  };
  // A script can make anything of the fields of its error: an object, a getter that throws, a text of any length.
  const said = (read) => {
    try { return slice(text(read()), 0, 50000); } catch { return ''; }
  };
  const describe = (error) => {
    if (error instanceof Failure) {
      return {name: said(() => error.name), message: said(() => error.message), stack: said(() => error.stack)};
    }
    return {name: '', message: said(() => show(error)), stack: ''};
  };

  // In the global scope, not in this one; strict, as in Maestro. The host takes off the first line again. Without
  // `undefined`, the directive would be the value of a script that only declares something.
  // A hashbang is one only at the very beginning.
  const run = (source) => evaluate('"use strict"; undefined;\n' + (source[0] === '#' && source[1] === '!' ? '//' : '') + source);
  return (order) => {
    if (order === '') return '0 ' + settled;
    const {source, values, copied, platform} = parse(order);
    missing = settled = '';
    maestro.copiedText = copied ?? undefined;
    maestro.platform = platform;
    reset(values ?? variables);
    let result;
    try {
      const value = run(source);
      if (value instanceof Promised) {
        result = settled = 'p';
        then(value, () => { settled = 'u'; }, (error) => { settled = throwing(error); });
      } else result = tag(value);
    } catch (error) {
      result = throwing(error);
    }
    return missing.length + ' ' + missing + result;
  };
})()
