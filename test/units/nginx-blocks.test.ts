import { expect, it } from '@jest/globals';
import { NginxSyntaxError, parseNginx, type Directive } from '../../src/setup/nginx-blocks';
import { isManagedByTool } from '../../src/setup/site';

/** Tests that words, quotes, comments and braces are read as nginx reads them (ngx_conf_file.c). */

type Short = [name: string, ...args: (string | Short[])[]];

function short({ name, args, block }: Directive): Short {
  return [name, ...args, ...(block === undefined ? [] : [block.directives.map(short)])];
}

it.each<[string, Short[]]>([
  ['', []],
  ['# a { b;\n\t', []],
  ['user www-data; # { \n', [['user', 'www-data']]],
  ['a b#c; # d;', [['a', 'b#c']]],
  ['server{listen 80;}', [['server', [['listen', '80']]]]],
  ['server\r\n{\r\n}\r\n', [['server', []]]],
  ['http { server { location / { } } }', [['http', [['server', [['location', '/', []]]]]]]],
  [`add_header X "a; } {";`, [['add_header', 'X', 'a; } {']]],
  [`return 200 'it\\'s } here';`, [['return', '200', `it's } here`]]],
  [`return 200 "say \\"}\\"";`, [['return', '200', 'say "}"']]],
  ['set $a "${b}{";', [['set', '$a', '${b}{']]],
  ['set $a ${b}c;', [['set', '$a', '${b}c']]],
  ['set $a b}c;', [['set', '$a', 'b}c']]],
  ['rewrite ^/a\\{2\\} /b last;', [['rewrite', '^/a\\{2\\}', '/b', 'last']]],
  ['location ~ "^/a{2}$" { }', [['location', '~', '^/a{2}$', []]]],
  [
    'map $a $b { default 1; "~}" 2; }',
    [
      [
        'map',
        '$a',
        '$b',
        [
          ['default', '1'],
          ['~}', '2'],
        ],
      ],
    ],
  ],
  [
    'content_by_lua_block { if a then ngx.say("}") end -- }\n t = {} }\nuser x;',
    [
      ['content_by_lua_block', []],
      ['user', 'x'],
    ],
  ],
])('%j', (text, expected) => {
  expect(parseNginx(text).map(short)).toEqual(expected);
});

it.each<[string, number]>([
  ['server {\n listen 80;\n', 1],
  ['a;\n}\n', 2],
  ['a b\n', 1],
  ['a "b;\n', 1],
  ['a;\n;', 2],
])('%j is not a configuration, from line %i on', (text, line) => {
  const fault = (() => {
    try {
      return parseNginx(text);
    } catch (error) {
      return error;
    }
  })();
  expect(fault).toBeInstanceOf(NginxSyntaxError);
  expect((fault as NginxSyntaxError).line).toBe(line);
});

it('keeps the positions of a name, after a block’s "{", and of its "}"', () => {
  const text = ' server # {\n { listen 80; }';
  const [{ start, block } = { start: -1, block: undefined }] = parseNginx(text);
  expect([start, text.slice(block?.open, block?.close)]).toEqual([1, ' listen 80; ']);
});

it.each([
  [true, '#ATTENTION!\n#\n#DO NOT MODIFY THIS FILE BECAUSE IT WAS GENERATED AUTOMATICALLY,\n'],
  [true, '# This file is managed by Puppet. DO NOT EDIT.\nserver {}\n'],
  [true, '# {{ ansible_managed }}: Ansible managed\n'],
  [true, '#======\n# WARNING: changes to this file\n# will be overwritten\n#======\n'],
  [
    false,
    '##\n# You should look at the following URLs in order to grasp a solid understanding\n# of Nginx configuration files.\n##\n',
  ],
  [false, 'server {\n    listen 443 ssl; # managed by Certbot\n}\n'],
  [false, 'server {\n    return 200 "do not edit";\n}\n'],
])('a tool writes it: %j %j', (expected, text) => {
  expect(isManagedByTool(text)).toBe(expected);
});
