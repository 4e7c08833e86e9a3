import { OperatorError } from '../licensing/operator-error';
import type { SbomOrigin } from '../store/sboms';

/** The software bill of materials of a package: reads one that a seller gives. */

export const MAX_SBOM_BYTES = 5 * 1024 * 1024;

/** The fault of a file. `unknown`: it is neither CycloneDX nor SPDX. `version`: it is one of another version. */
type SbomFault = 'empty' | 'too-large' | 'no-json' | 'unknown' | 'version';

declare module '../licensing/operator-error' {
  interface Refusals {
    sbom: { reason: 'bad-sbom'; fault: SbomFault; /** the format that the file names */ format: string };
  }
}

/** An SBOM that is not stored yet. */
export interface Sbom {
  json: string;
  /** such as `CycloneDX 1.6` or `SPDX-2.3` */
  format: string;
  origin: SbomOrigin;
}

/** Reads an SBOM: CycloneDX from 1.4, or SPDX 2.3. @throws OperatorError if the bytes are not one */
export function readSbom(bytes: Buffer): Sbom {
  if (bytes.length === 0) throw refusal('empty', 'it is empty');
  if (bytes.length > MAX_SBOM_BYTES) throw sbomTooLarge();
  let json: string;
  let value: unknown;
  try {
    json = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(json);
  } catch {
    throw refusal('no-json', 'it is not JSON in UTF-8');
  }
  const { bomFormat, specVersion, spdxVersion } = (
    typeof value === 'object' && value !== null ? value : {}
  ) as Record<string, unknown>;
  if (bomFormat === 'CycloneDX' && typeof specVersion === 'string') {
    const format = `CycloneDX ${specVersion}`;
    if (/^1\.(?:[4-9]|[1-9]\d)$/.test(specVersion)) return { json, format, origin: 'given' };
    throw refusal('version', `it is ${format.slice(0, 50)}`, format);
  }
  if (typeof spdxVersion === 'string') {
    if (spdxVersion === 'SPDX-2.3') return { json, format: spdxVersion, origin: 'given' };
    throw refusal('version', `it is ${spdxVersion.slice(0, 50)}`, spdxVersion);
  }
  throw refusal('unknown', 'it has neither "bomFormat" and "specVersion" nor "spdxVersion"');
}

export function sbomTooLarge(): OperatorError {
  return refusal('too-large', 'it is larger than 5 MiB');
}

function refusal(fault: SbomFault, why: string, format = ''): OperatorError {
  return new OperatorError(
    `The SBOM is refused: ${why}. It must be JSON of CycloneDX 1.4 or a later 1.x, or of SPDX 2.3, of at most 5 MiB. Nothing was changed.`,
    {
      code: 'INVALID_REQUEST',
      field: 'sbom',
      facts: { reason: 'bad-sbom', fault, format: format.slice(0, 50) },
    },
  );
}
