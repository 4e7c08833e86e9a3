import { describe, expect, it } from '@jest/globals';
import { securityLines, shownChangelog } from '../../src/licensing/changelog';

describe('the security lines of a changelog', () => {
  it.each<[string, string[], string]>([
    ['', [], ''],
    ['Faster.\nNo flicker.', [], 'Faster.\nNo flicker.'],
    ['fix: A\nsecurity: B', ['B'], 'security: B\nfix: A'],
    ['- fix: A\n- Security:  B \n* security: C', ['B', 'C'], '- Security:  B \n* security: C\n- fix: A'],
    ['A\r\nsecurity: B\rC', ['B'], 'security: B\nA\nC'],
    ['security:\nsecurity: ', [], 'security:\nsecurity: '],
    ['The security: of all\nsecurityx: A', [], 'The security: of all\nsecurityx: A'],
  ])('%j', (changelog, lines, shown) => {
    expect(securityLines(changelog)).toEqual(lines);
    expect(shownChangelog({ changelog, security: true })).toBe(shown);
    expect(shownChangelog({ changelog, security: false })).toBe(changelog);
  });
});
