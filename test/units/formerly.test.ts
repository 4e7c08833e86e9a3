import { describe, expect, it } from '@jest/globals';
import { formerAddresses, readFormerlyList } from '../../src/joomla/formerly/addresses';

/** Tests which requests are for an address of a former system. test/web/formerly.test.ts asks real web servers. */

const ITEMS = new Map([['7', Array.from({ length: 450 }, (_, i) => String(1_000 + i))]]);

function answering(list: string, request: string, folder = ''): string[] {
  return formerAddresses(readFormerlyList(list), ITEMS, folder)
    .filter(({ pattern }) => new RegExp(pattern, 'i').test(request))
    .map(({ name }) => name);
}

describe('a former address', () => {
  it.each([
    ['ars=7:42', 'GET /?option=com_ars&view=item&item_id=1000', ['ars=7 download']],
    ['ars=7:42', 'GET /?option=com_ars&view=item&item_id=1449', ['ars=7 download']],
    ['ars=7:42', 'GET /?option=com_ars&view=item&item_id=1450', []],
    ['ars=7:42', 'GET /?option=com_ars&view=item&release_id=1000&item_id=5', []],
    ['ars=7:42', 'GET /?option=com_ars&view=item&item_id=100', []],
    ['ars=7:42', 'GET /administrator/index.php?option=com_ars&view=item&layout=edit&id=1000', []],
    ['ars=7:42', 'GET /?option=com_ars&view=item&task=edit&id=1000', []],
    ['ars=7:42', 'GET /?option=com_arsenal&view=update&task=stream&id=7', []],
    ['ars=7:42', 'POST /?option=com_ars&view=update&task=stream&id=7', []],
    ['ars=7:42', 'GET /?id=007&task=stream&view=update&option=com_ars', ['ars=7']],
    ['path=/a.b/*.zip:42', 'GET /de/a.b/1/2.zip?', ['path=/a.b/*.zip']],
    ['path=/a.b/*.zip:42', 'GET /axb/1/2.zip?', []],
    ['path=/a.b/*.zip:42', 'GET /german/a.b/1.zip?', []],
    ['path=/a.b/*.zip:42', 'GET /a.b/1.zip.txt?', []],
  ])('of %s answers %s: %j', (list, request, names) => {
    expect(answering(list, request)).toEqual(names);
  });

  it('of a site in a sub-folder has the language after the folder', () => {
    const asked = (request: string) => answering('path=/joomla/up.xml:42', request, '/joomla');
    expect(asked('GET /joomla/de/up.xml?')).toEqual(['path=/joomla/up.xml']);
    expect(asked('GET /joomla/index.php/up.xml?')).toEqual(['path=/joomla/up.xml']);
    expect(asked('GET /de/joomla/up.xml?')).toEqual([]);
  });
});
