// Names that people type into a field with suggestions: a part of a name will do where it is clear.

/** The name that is meant: as typed, else the only one that ends in it or has it as a part; null for none. */
export function meant(text, names) {
  if (names.includes(text)) return text;
  const wanted = text.toLowerCase();
  const parts = [(name) => name.endsWith(`.${wanted}`) || name.endsWith(`/${wanted}`), (name) => name.includes(wanted)];
  for (const fits of parts) {
    const found = names.filter((name) => fits(name.toLowerCase()));
    if (found.length) return found.length === 1 ? found[0] : null;
  }
  return null;
}
