/** How many cases a property tries: as many as take no time, or `PROPERTY_RUNS` for a long look. */
export const runs = Number(process.env['PROPERTY_RUNS'] ?? 300);
