/** Extension types and clients, as Joomla defines them (libraries/src/Installer/Adapter). */

export const EXTENSION_CLIENTS = ['site', 'administrator'] as const;
export type ExtensionClient = (typeof EXTENSION_CLIENTS)[number];

const CLIENTS: readonly string[] = [...EXTENSION_CLIENTS, 'installation', 'api', 'cli'];

interface ExtensionTypeFacts {
  /** the client of installed extensions of this type; undefined for either */
  client: ExtensionClient | undefined;
  /** the prefix of the elements of this type; empty without one */
  prefix: string;
}

const FACTS = {
  package: { client: 'site', prefix: 'pkg_' },
  component: { client: 'administrator', prefix: 'com_' },
  module: { client: undefined, prefix: 'mod_' },
  plugin: { client: 'site', prefix: '' },
  template: { client: undefined, prefix: '' },
  library: { client: 'site', prefix: 'lib_' },
  file: { client: 'site', prefix: '' },
} satisfies Record<string, ExtensionTypeFacts>;

export type ExtensionType = keyof typeof FACTS;
export const EXTENSION_TYPES = Object.keys(FACTS) as ExtensionType[];

function factsOf(type: string): ExtensionTypeFacts | undefined {
  return Object.hasOwn(FACTS, type) ? FACTS[type as ExtensionType] : undefined;
}

/** Returns the client under which extensions of a type are installed; undefined for either, or for an unknown type. */
export function clientOfType(type: string): ExtensionClient | undefined {
  return factsOf(type)?.client;
}

/** Returns the prefix of a type's elements, or an empty text. Joomla itself adds it to packages, components and modules. */
export function prefixOfType(type: string): string {
  return factsOf(type)?.prefix ?? '';
}

/** Returns the type for an element's prefix; undefined without a known prefix, as for plugins. */
export function typeOfElement(element: string): ExtensionType | undefined {
  return EXTENSION_TYPES.find((type) => {
    const { prefix } = FACTS[type];
    return prefix !== '' && element.startsWith(prefix);
  });
}

/** Returns a client's name from a `client` element, by default administrator; undefined for an unknown name. */
export function readClient(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return 'administrator';
  if (/^[0-9]+$/.test(text)) return CLIENTS[Number(text)] ?? text;
  const name = text.toLowerCase();
  return CLIENTS.includes(name) ? name : undefined;
}
