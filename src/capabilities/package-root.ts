/** The folder of the package or of the checkout. Files that the program reads when it runs are found from here. */
export const packageRoot = new URL('../../', import.meta.url);
