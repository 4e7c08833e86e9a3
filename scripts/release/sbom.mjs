import { Buffer } from 'node:buffer';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './packages.mjs';

const read = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'));

/**
 * Returns the SBOM of a release (CycloneDX, by npm), with production's packages only. `npm sbom --omit dev` drops
 * packages that development needs too, so it runs on a copy without development's. The commit gives the serial number,
 * time and root's name: npm invents the first two, and takes the third from the folder.
 * @param time seconds since 1970
 */
export function makeSbom({ commit, time, node, folder }) {
  const manifest = read('package.json');
  const lock = read('package-lock.json');
  delete manifest.devDependencies;
  delete lock.packages[''].devDependencies;
  lock.packages = Object.fromEntries(
    Object.entries(lock.packages).filter(([path, { dev, os, cpu }]) => !dev && isPacked(path, os, cpu)),
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const sbom = JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8' }));

  const hash = createHash('sha256').update(`${manifest.name} ${commit}`).digest('hex');
  sbom.serialNumber = `urn:uuid:${hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-5$3-8$4-$5')}`;
  sbom.metadata.timestamp = new Date(time * 1000).toISOString();
  const { component } = sbom.metadata;
  component.name = manifest.name;
  component.licenses =
    manifest.license === 'UNLICENSED'
      ? [{ license: { name: 'UNLICENSED' } }]
      : [{ license: { id: manifest.license } }];
  const own = nodeComponent(node);
  sbom.components.push(own);
  sbom.dependencies.find(({ ref }) => ref === component['bom-ref']).dependsOn.push(own['bom-ref']);
  sbom.dependencies.push({ ref: own['bom-ref'], dependsOn: [] });
  return sbom;
}

/** Reports whether a package is packed: a compiled one if it is for the two kinds of machine, with glibc. */
function isPacked(path, os, cpu) {
  if (cpu === undefined || cpu.length > 1) return true;
  return os.includes('linux') && ['x64', 'arm64'].includes(cpu[0]) && !path.endsWith('-musl');
}

function nodeComponent({ version, x64, arm64 }) {
  return {
    'bom-ref': `node@${version}`,
    type: 'application',
    name: 'node',
    version,
    scope: 'required',
    description: 'Node.js, which runs the program; not in hosting.zip',
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:lts:*:*:*`,
    externalReferences: [x64, arm64].map((one) => ({
      type: 'distribution',
      url: `pkg:npm/${one.package}@${version}`,
      hashes: [{ alg: 'SHA-512', content: Buffer.from(one.integrity.slice(7), 'base64').toString('hex') }],
    })),
    licenses: [{ license: { id: 'MIT' } }],
  };
}
