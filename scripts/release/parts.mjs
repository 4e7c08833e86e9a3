import { Script } from 'node:vm';

/**
 * Splits a bundle, because V8 keeps the source of everything that it has loaded. Modules that a service rarely needs
 * are moved into files next to it, each of which is read at the first use of one of its modules. They are opened at the
 * start, so that an upgrade that replaces the files does not change those of a running service.
 */

/** The modules at the top of an esbuild bundle. Only CommonJS can move, because other modules use only its function. */
const DEFINITION = /(?<=[;}]|^)var (require_\w+)=\s*__commonJS\(\{\s*"((?:[^"\\]|\\[^])+)"\(/gm;
/** Other definitions at the top that are never assigned again. */
const TOP = /(?<=[;}]|^)var (require_\w+|init_\w+|\w+_exports)=\s*(?:__commonJS\(|__esm\(|\{\};)/gm;
const NAME = /\b(?:__\w+|(?:require|init)_\w+|\w+_exports)\b/g;

/**
 * Moves modules out of a bundle.
 * @param patterns the paths of each part's modules as a regular expression, by the part's name
 * @returns the bundle without them, and the parts' texts by name
 */
export function moveToParts(text, patterns) {
  if (Object.keys(patterns).length === 0) return { text, files: {} };
  const own = [];
  const parts = Object.keys(patterns).map((name) => ({ name, texts: [], defines: [] }));
  let from = 0;
  const found = [...text.matchAll(DEFINITION)];
  for (const [i, { index, 1: name, 2: path }] of found.entries()) {
    const definition = text.slice(index, found[i + 1]?.index);
    const at = Object.values(patterns).findIndex((one) => new RegExp(one).test(path.replace(/\\\n/g, '')));
    if (at < 0 || !isAlone(definition)) continue;
    own.push(text.slice(from, index));
    from = index + definition.length;
    parts[at].texts.push(definition);
    parts[at].defines.push(name);
  }
  own.push(text.slice(from));
  const rest = own.join('');
  const namesIn = (source) => new Set(source.match(NAME));
  const known = new Set([
    ...[...text.slice(0, found[0].index).matchAll(/\b(?:var |,)(__\w+)=/g)].map(([, name]) => name),
    ...[...rest.matchAll(TOP)].map(([, name]) => name),
    ...parts.flatMap(({ defines }) => defines),
  ]);
  const uses = [namesIn(rest), ...parts.map(({ texts }) => namesIn(texts.join('')))];
  const stubs = [];
  const files = {};
  for (const [i, { name, texts, defines }] of parts.entries()) {
    const others = uses.filter((_, j) => j !== i + 1);
    const offered = defines.filter((one) => others.some((names) => names.has(one)));
    const taken = [...uses[i + 1]].filter((one) => known.has(one) && !defines.includes(one));
    files[name] =
      `(function(require,__filename,__dirname,${taken.join(',')}){"use strict";${texts.join('')}\n` +
      `return{${offered.join(',')}}})\n`;
    stubs.push(
      `var __${name}=__part("${name}",()=>[require,__filename,__dirname,${taken.join(',')}])` +
        offered.map((one) => `,\n${one}=()=>__${name}().${one}()`).join('') +
        ';',
    );
  }
  const start = '"use strict";';
  return { text: rest.replace(start, () => `${start}${PART}${stubs.join('\n')}\n`), files };
}

/** Reports whether a text that begins with a module's definition contains nothing else. */
function isAlone(definition) {
  try {
    new Script(`(${definition.slice(definition.indexOf('=') + 1).replace(/;\s*$/, '')}\n)`);
    return true;
  } catch {
    return false;
  }
}

/** The code in the bundle that reads a part. */
const PART = `var __part=(name,args)=>{
const path=__filename.replace(/[.]js$/,"/"+name+".js"),fs=require("node:fs"),file=fs.openSync(path);
let modules;
return()=>{
if(modules===undefined){
const vm=require("node:vm"),text=fs.readFileSync(file,"latin1");
modules=new vm.Script(text,{filename:path,importModuleDynamically:vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER}).runInThisContext()(...args());
fs.closeSync(file)}
return modules}};
`;
