export const releases = {
  title: 'Releases',
};
