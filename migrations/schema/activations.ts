import type { Tables } from '../tables';

export const activations: Tables = (t) => ({
  activations: {
    columns: {
      id: t.id,
      license_id: `${t.ref} NOT NULL`,
      identifier: `${t.text(255)} NOT NULL`,
      name: `${t.text(190)} NULL`,
      ip: `${t.ascii(45)} NULL`,
      activated_at: `${t.time} NOT NULL`,
      // The key it came by; null: the main key.
      key_id: `${t.ref} NULL`,
      // Whether it takes no slot.
      free: `${t.flag} NOT NULL DEFAULT 0`,
      // The registrable domain, by which staging sites follow their production site.
      site: `${t.text(255)} NULL`,
      // It cannot be given back until then: a file for a machine without network was made for it.
      held_until: `${t.time} NULL`,
    },
    unique: [['license_id', 'identifier']],
    indexes: [
      ['license_id', 'site'],
      ['key_id', 'free'],
      ['identifier', 'license_id'],
    ],
    references: { license_id: 'licenses' },
  },
});
