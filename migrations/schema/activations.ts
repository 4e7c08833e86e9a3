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
      // The key with which it was activated; null for the main key.
      key_id: `${t.ref} NULL`,
      // Whether it uses no slot.
      free: `${t.flag} NOT NULL DEFAULT 0`,
      // The registrable domain, which relates staging sites to their production site.
      site: `${t.text(255)} NULL`,
      // The time until which it cannot be deactivated, because an offline file was issued for it.
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
