/** What Joomla knows of the types of extensions (libraries/src/Installer/Adapter), and of the clients they have. */

/** The clients that extensions are installed under. */
export const EXTENSION_CLIENTS = ['site', 'administrator'] as const;
export type ExtensionClient = (typeof EXTENSION_CLIENTS)[number];

/** As Joomla counts them. */
const CLIENTS: readonly string[] = [...EXTENSION_CLIENTS, 'installation', 'api', 'cli'];

interface ExtensionTypeFacts {
  /** what its installed extensions have; undefined: either */
  client: ExtensionClient | undefined;
  /** what their elements begin with; empty: nothing in particular */
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

/** The client that extensions of a type are installed under; undefined: either, or it is none of these. */
export function clientOfType(type: string): ExtensionClient | undefined {
  return factsOf(type)?.client;
}

/**
 * What the elements of a type begin with, and can be told by; empty: nothing in particular, or it is none of these. Of
 * packages, components and modules it is Joomla that puts it there; a library may be without.
 */
export function prefixOfType(type: string): string {
  return factsOf(type)?.prefix ?? '';
}

/** The type that an element's prefix says; undefined: it has none of them, as those of plugins. */
export function typeOfElement(element: string): ExtensionType | undefined {
  return EXTENSION_TYPES.find((type) => {
    const { prefix } = FACTS[type];
    return prefix !== '' && element.startsWith(prefix);
  });
}

/**
 * The client that a `client` element means, by its name. A missing or empty one counts as administrator.
 *
 * @returns undefined for a name that Joomla does not know
 */
export function readClient(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return 'administrator';
  if (/^[0-9]+$/.test(text)) return CLIENTS[Number(text)] ?? text;
  const name = text.toLowerCase();
  return CLIENTS.includes(name) ? name : undefined;
}
