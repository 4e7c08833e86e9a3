export const my = {
  title: 'Your licence',
};
