/** The number of cases that a property tries. `PROPERTY_RUNS` sets a larger one. */
export const runs = Number(process.env['PROPERTY_RUNS'] ?? 300);
