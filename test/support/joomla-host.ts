import { createWriteStream, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { PluginKind } from '../../src/orders/shop-kinds';
import { eachEntry } from '../../src/packages/zip';
import { startPhp, type PhpProcess } from './php-process';
import { temporaryFolder } from './processes';

/** A customer's site: PHP with the parts of Joomla that plugins use (test/joomla/host). */

export const JOOMLA_VERSIONS = ['4.4', '5.0', '5.3', '6.1', '7.0'] as const;
export type JoomlaVersion = (typeof JOOMLA_VERSIONS)[number];

const HOST = join(__dirname, '../joomla/host/joomla.php');

export type Step =
  | { download: string }
  /** a search for updates, at the address of the update site */
  | { search: string }
  /** a click on Update */
  | { click: true }
  | { install: string }
  | { uninstall: string }
  /** an event in an application; by default that of the options */
  | { event: string; arguments?: object; client?: HostOptions['client'] }
  /** a visit of the shop, in the form of its file in test/joomla/host */
  | { shop: object; client?: HostOptions['client'] }
  | { sql: string };

export interface Downloaded {
  messages: [type: string, text: string][];
  /** the address after the event */
  url: string;
  headers: Record<string, string>;
  /** the duration of the event */
  seconds: number;
  /** the status of the download that follows, or its failure */
  status: number | string;
}

/** The result of a search: the request, and the offered update. */
export interface Searched {
  url: string;
  version: string;
}

/** The result of a click: the download that would follow. */
export interface Clicked {
  version: string;
  download: string;
}

export interface SentMail {
  to: string;
  subject: string;
  body: string;
  alt: string;
}

/** The result of a visit of the shop. */
export interface Visited {
  /** the order */
  result: number;
  /** the text on the page */
  shown: string;
  mails: SentMail[];
  log: string[];
  seconds: number;
}

export interface JoomlaSite {
  folder: string;
  run<T = unknown>(steps: Step[], options?: HostOptions): Promise<T[]>;
}

export interface HostOptions {
  client?: 'administrator' | 'site' | 'cli';
  language?: string;
  root?: string;
  /** the component of the page */
  option?: string;
}

const started: PhpProcess[] = [];

/** Stops all sites at the end of a test file. */
export async function stopJoomlaSites(): Promise<void> {
  await Promise.all(started.splice(0).map((site) => site.stop()));
}

/**
 * Creates a site. @param reach the authority, and the address of the shop's host, in the form of curl's --resolve
 * @param shop the site's shop, or a component of the administrator
 * @param folder another process's site, for concurrent requests
 */
export async function createJoomlaSite(
  version: JoomlaVersion,
  reach: { ca: string; resolve: string[] },
  shop?: PluginKind | 'component',
  folder = temporaryFolder('licensing-joomla'),
): Promise<JoomlaSite> {
  const php = startPhp(HOST);
  started.push(php);
  await php.ask({ version, site: folder, shop, ...reach });
  const site: JoomlaSite = {
    folder,
    run<T>(steps: Step[], options: HostOptions = {}) {
      const given = {
        client: 'administrator',
        language: 'en-GB',
        root: 'https://www.customer.example/joomla/',
      };
      return php.ask<T[]>({ ...given, ...options, steps });
    },
  };
  await site.run([{ sql: SCHEMA }]);
  return site;
}

/** The tables of Joomla's installation/sql. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS jos_extensions (extension_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, type TEXT NOT NULL,
    element TEXT NOT NULL, folder TEXT NOT NULL, client_id INTEGER NOT NULL, enabled INTEGER NOT NULL,
    manifest_cache TEXT NOT NULL, params TEXT NOT NULL, custom_data TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS jos_update_sites (update_site_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, type TEXT, location TEXT,
    enabled INTEGER, extra_query TEXT DEFAULT '');
  CREATE TABLE IF NOT EXISTS jos_update_sites_extensions (update_site_id INTEGER, extension_id INTEGER,
    PRIMARY KEY (update_site_id, extension_id));
  CREATE TABLE IF NOT EXISTS jos_updates (update_id INTEGER PRIMARY KEY AUTOINCREMENT, update_site_id INTEGER, type TEXT,
    element TEXT, folder TEXT, client_id INTEGER, version TEXT, detailsurl TEXT);
`;

/** Unpacks a package, and each zip in it into a folder of its name. @returns the files' paths below the folder */
export async function unpack(path: string, folder: string): Promise<string[]> {
  const names: string[] = [];
  await eachEntry(path, async (zip, entry) => {
    const target = join(folder, entry.fileName);
    mkdirSync(dirname(target), { recursive: true });
    await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(target));
    names.push(entry.fileName);
  });
  for (const name of names.filter((one) => one.endsWith('.zip'))) {
    const inside = name.replace(/\.zip$/, '');
    names.push(...(await unpack(join(folder, name), join(folder, inside))).map((one) => `${inside}/${one}`));
  }
  return names.sort();
}
