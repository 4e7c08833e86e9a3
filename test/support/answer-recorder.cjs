'use strict';
/*
 * Preloaded into every process of the tests that runs the service: compares each of its answers with docs/openapi.json,
 * and records the answered operations with their statuses. It is a plain script for `node --require`.
 *
 * Loading and compiling the document takes 0.2 s of CPU, so a short process keeps its answers for the end of the run.
 */
const { appendFileSync, readdirSync, readFileSync } = require('node:fs');
const { ServerResponse } = require('node:http');
const { join } = require('node:path');

const PREFIX = '/api/index.php/v1/licensing/';
const { TEST_ANSWERS: folder, TEST_ANSWERS_LATER: isLater } = process.env;
// Do not record programs that this process starts, except where the test asks for it (recorded(), service-process.ts).
delete process.env.NODE_OPTIONS;

/** Headers of HTTP itself, and X-Accel-Redirect, which nginx removes. */
const UNDESCRIBED = new Set([
  'content-type',
  'content-length',
  'connection',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-accel-redirect',
]);
const MOST_WRONG = 100;

let judge;
const known = { seen: new Set(), wrong: new Set() };
/** The last short body of each address, because storms receive the same answer many times. */
const kept = new Map();

function note(kind, line, into = folder) {
  if (known[kind].has(line) || (kind === 'wrong' && known.wrong.size >= MOST_WRONG)) return;
  known[kind].add(line);
  // Write at once, because services are also killed. Services of other users need a file of their own.
  appendFileSync(join(into, `${kind}-${process.getuid()}`), `${line}\n`);
}

/** Keeps an answer in a file of this process. A killed process may leave half of its last line. */
function keep(answer) {
  const { method, url, status, headers, body } = answer;
  const isText = /^(?:application\/json|text\/plain)/.test(headers['content-type'] ?? '');
  const text = isText && body !== undefined ? String(body) : undefined;
  const address = `${method} ${url.split('?')[0]} ${status}`;
  if (text !== undefined && kept.get(address) === text) return;
  if (kept.size > 200) kept.clear();
  if (text !== undefined && text.length < 4_000) kept.set(address, text);
  appendFileSync(
    join(folder, `later-${process.getuid()}-${process.pid}`),
    `${JSON.stringify({ ...answer, body: text })}\n`,
  );
}

function judgeAnswer(answer, into) {
  judge ??= createJudge(JSON.parse(readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8')));
  const { operation, faults } = judge(answer);
  const { method, status } = answer;
  if (faults.length === 0) note('seen', `${operation} ${status}`, into);
  for (const fault of faults) note('wrong', `${method} ${operation} ${status}: ${fault}`, into);
}

/** Checks the answers that processes kept in the folder. */
exports.judgeKept = (into) => {
  for (const name of readdirSync(into).filter((one) => one.startsWith('later-')))
    for (const line of readFileSync(join(into, name), 'utf8').split('\n').slice(0, -1))
      judgeAnswer(JSON.parse(line), into);
};

function look(res, body) {
  const { req } = res;
  const url = req?.url ?? '';
  // Skip stand-ins for the service, which have no id, answers that can no longer be read, and pages.
  if (
    !url.startsWith(PREFIX) ||
    url.startsWith(`${PREFIX}pages/`) ||
    !res.hasHeader('X-Request-Id') ||
    req.socket.destroyed ||
    res.socket?.writable === false
  )
    return;
  const answer = { method: req.method, url, status: res.statusCode, headers: res.getHeaders(), body };
  if (isLater) keep(answer);
  else judgeAnswer(answer);
}

if (folder !== undefined) {
  const { end } = ServerResponse.prototype;
  ServerResponse.prototype.end = function (...args) {
    if (!this.writableEnded) {
      const [body] = args;
      try {
        look(this, typeof body === 'function' ? undefined : body);
      } catch (error) {
        note('wrong', `the recorder failed: ${error.stack.replaceAll('\n', ' ')}`);
      }
    }
    return end.apply(this, args);
  };
}

/** Creates a function that checks answers by the document. */
function createJudge(document) {
  const { Ajv2020 } = require('ajv/dist/2020');
  // Compile quickly, because each worker compiles the document: 1.2 s of CPU; with Ajv's usual code 4.0 s.
  const quickly = { code: { optimize: false }, inlineRefs: false, validateFormats: false };
  const ajv = new Ajv2020({ ...quickly, strict: false, meta: false, validateSchema: false });
  ajv.addSchema({ ...document, $id: 'document' });
  const at = (pointer) =>
    pointer
      .split('/')
      .reduce((part, name) => part[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
  const resolve = (part) => (part?.$ref === undefined ? part : at(part.$ref.slice(2)));

  /** Returns the responses to compile, by their place in the document. */
  function compile(responses, place) {
    return new Map(
      Object.entries(responses).map(([status, reference]) => {
        const path = reference.$ref?.slice(2) ?? `${place}/${status}`;
        const { headers = {}, content = {} } = resolve(reference);
        return [
          Number(status),
          {
            headers: Object.entries(headers).map(([name, header]) => ({
              name: name.toLowerCase(),
              required: resolve(header).required === true,
              isValid: headerJudge(resolve(header).schema),
            })),
            content: new Map(
              Object.entries(content).map(([type, { schema }]) => [
                type,
                { schema, path: `${path}/content/${escape(type)}/schema` },
              ]),
            ),
          },
        ];
      }),
    );
  }
  const escape = (name) => name.replaceAll('~', '~0').replaceAll('/', '~1');
  const headerJudge = (schema) => {
    let validate;
    return (text) => {
      validate ??= ajv.compile(schema);
      return validate(schema.type === 'integer' && /^\d+$/.test(text) ? Number(text) : text);
    };
  };

  const root = { words: new Map(), any: undefined, methods: undefined };
  for (const [path, methods] of Object.entries(document.paths)) {
    let node = root;
    for (const word of path.split('/').filter(Boolean)) {
      const next = () => ({ words: new Map(), any: undefined, methods: undefined });
      if (word.startsWith('{')) node = node.any ??= next();
      else {
        if (!node.words.has(word)) node.words.set(word, next());
        node = node.words.get(word);
      }
    }
    node.methods = new Map(
      Object.entries(methods).map(([method, operation]) => [
        method.toUpperCase(),
        {
          name: operation.operationId,
          responses: compile(operation.responses, `paths/${escape(path)}/${method}/responses`),
        },
      ]),
    );
  }
  const others = Object.fromEntries(
    ['customers', 'manage'].map((api) => [
      api,
      {
        name: `(other, ${api})`,
        responses: compile(document['x-other-answers'][api], `x-other-answers/${api}`),
      },
    ]),
  );

  function operationOf(method, url) {
    const [path] = url.slice(PREFIX.length - 1).split('?', 1);
    // Ignore one slash at the end, which changes nothing; a second one does.
    const words = path.replace(/\/$/, '').split('/').slice(1);
    const other = words[0] === 'manage' ? others.manage : others.customers;
    let node = root;
    // The id of these two may be missing, which is 400.
    if (words.length === 1 && (words[0] === 'updates' || words[0] === 'downloads')) words.push('(none)');
    for (const word of words) {
      node = node.words.get(word) ?? (word === '' ? undefined : node.any);
      if (node === undefined) return other;
    }
    return (
      node.methods?.get(method === 'HEAD' ? 'GET' : method) ?? (node.methods ? anyOf(node, other) : other)
    );
  }
  /** Returns the answers to an unsupported method: an operation's answers that come before 405, and 405. */
  const anyOf = (node, other) => {
    const [first] = node.methods.values();
    return { name: other.name, responses: new Map([...first.responses, ...other.responses]) };
  };

  const answered = new Map();

  return function judge({ method, url, status, headers, body }) {
    const operation = operationOf(method, url);
    const { name } = operation;
    const expected = operation.responses.get(status);
    if (expected === undefined)
      return { operation: name, faults: [`the status is not described (${url.split('?')[0]})`] };
    const faults = [];
    let found = 0;
    for (const { name: header, required, isValid } of expected.headers) {
      const value = headers[header];
      if (value !== undefined) {
        found++;
        if (!isValid(String(value))) faults.push(`the header ${header} is ${String(value)}`);
      } else if (required) faults.push(`the header ${header} is missing`);
    }
    const described = Object.keys(headers).filter((header) => !UNDESCRIBED.has(header));
    if (described.length !== found) {
      const names = new Set(expected.headers.map((header) => header.name));
      for (const header of described)
        if (!names.has(header)) faults.push(`the header ${header} is not described`);
    }
    const type = headers['content-type']?.split(';', 1)[0];
    const content = expected.content.get(type);
    if (type === undefined) {
      if (expected.content.size > 0 && method !== 'HEAD') faults.push('it has no content');
    } else if (content === undefined) faults.push(`the type ${type} is not described`);
    else if (method !== 'HEAD' && (type === 'application/json' || type === 'text/plain')) {
      const text = body === undefined ? '' : String(body);
      if (type === 'application/json' && headers['content-encoding'] !== undefined)
        return { operation: name, faults };
      faults.push(...bodyFaults(content, type, text));
    }
    return { operation: name, faults };
  };

  function bodyFaults(content, type, text) {
    // Storms receive the same answer many times.
    const last = answered.get(content);
    if (last === text) return [];
    content.validate ??= ajv.compile({ $ref: `document#/${encodeURI(content.path)}` });
    let value = text;
    if (type === 'application/json')
      try {
        value = JSON.parse(text);
      } catch {
        return ['the body is no JSON'];
      }
    if (content.validate(value)) {
      answered.set(content, text);
      return [];
    }
    return [
      `${content.validate.errors
        .slice(0, 5)
        .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
        .join('; ')} in ${text.slice(0, 300)}`,
    ];
  }
}
