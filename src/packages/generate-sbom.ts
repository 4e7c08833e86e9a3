import { randomUUID } from 'node:crypto';
import { ComponentType, LifecyclePhase } from '@cyclonedx/cyclonedx-library/Enums';
import {
  Bom,
  Component,
  LicenseExpression,
  Property,
  SpdxLicense,
} from '@cyclonedx/cyclonedx-library/Models';
import { JSON as CycloneDxJson, JsonSerializer } from '@cyclonedx/cyclonedx-library/Serialize';
import { Spec1dot6 } from '@cyclonedx/cyclonedx-library/Spec';
import { readLockFiles, type LockedPackage } from './lock-files';
import { MAX_SBOM_BYTES, type Sbom } from './sbom';

/** The tool that a generated SBOM names, with whose name its own properties begin. */
const TOOL = 'licensing-gateway';

interface Generated {
  /** undefined if the package has no lock file that can be read */
  sbom: Sbom | undefined;
  /** the paths of lock files that cannot be read */
  broken: string[];
}

/** Makes an SBOM (CycloneDX 1.6) from the lock files in a package. @throws the signal's reason */
export async function generateSbom(
  zip: string,
  about: { name: string; version: string },
  now: Date,
  signal?: AbortSignal,
): Promise<Generated> {
  const { packages, read, broken } = await readLockFiles(zip, signal);
  if (read.length === 0) return { sbom: undefined, broken };
  const json = serialize(about, packages, read, now);
  // More packages than any extension has: a seller may give an SBOM instead.
  if (Buffer.byteLength(json) > MAX_SBOM_BYTES) return { sbom: undefined, broken: [...read, ...broken] };
  return { sbom: { json, format: 'CycloneDX 1.6', origin: 'generated' }, broken };
}

function serialize(
  { name, version }: { name: string; version: string },
  packages: LockedPackage[],
  read: string[],
  now: Date,
): string {
  const root = new Component(ComponentType.Application, name, { version, bomRef: 'package' });
  const bom = new Bom({ serialNumber: `urn:uuid:${randomUUID()}` });
  const { metadata } = bom;
  metadata.timestamp = now;
  metadata.component = root;
  metadata.lifecycles.add(LifecyclePhase.PostBuild);
  metadata.tools.components.add(new Component(ComponentType.Application, TOOL));
  metadata.properties.add(new Property(`${TOOL}:generated`, 'true'));
  for (const path of read) metadata.properties.add(new Property(`${TOOL}:lock-file`, path));
  for (const one of packages) {
    const component = toComponent(one);
    bom.components.add(component);
    root.dependencies.add(component.bomRef);
  }
  return new JsonSerializer(new CycloneDxJson.Normalize.Factory(Spec1dot6)).serialize(bom, {
    sortLists: true,
  });
}

function toComponent({ type, name, version, licenses }: LockedPackage): Component {
  const parts = name.split('/');
  const purl = `pkg:${type}/${parts.map(encodeURIComponent).join('/')}@${encodeURIComponent(version)}`;
  const component = new Component(ComponentType.Library, parts.pop() as string, {
    ...(parts.length > 0 && { group: parts.join('/') }),
    version,
    purl,
    bomRef: purl,
  });
  const [only = ''] = licenses;
  // Either one expression or a list is allowed. A text that is not an SPDX id becomes a name.
  if (licenses.length === 1 && / (?:AND|OR|WITH) /i.test(only))
    component.licenses.add(new LicenseExpression(only));
  else for (const id of licenses) component.licenses.add(new SpdxLicense(id));
  return component;
}
