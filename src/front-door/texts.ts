/** Every sentence on the pages of the front door, in one place. A function takes what differs. */
export const texts = {
  consent: {
    title: 'Allow access',
    heading: (client: string) => `Allow ${client} to act for you?`,
    asks: 'It asks to:',
    already: 'You have already allowed it to:',
    access: 'Access to',
    publishedBy: 'Published by',
    returnsTo: 'You return to',
    signedInAs: 'You are signed in as',
    signOut: 'sign out',
    nameVerified: 'The operator of this service registered this client.',
    nameUnverified: 'The client chose its name itself. It is not verified.',
    documentVerified: (host: string) => `Only its host, ${host}, is verified. It chose its name itself.`,
    loopback: 'a program on this computer',
    loopbackWarning:
      'Any program on this computer can receive the answer. Allow this only if you have just started it.',
    app: (scheme: string) => `an app on this device (${scheme}:)`,
    appWarning: 'Any app on this device can claim this address. Allow this only if you have just started it.',
    shortLived: (seconds: number) => `for ${duration(seconds)}`,
    nextAt: (provider: string) => `Next, you sign in at ${provider}.`,
    address: 'Your work address',
    addressHint: 'It decides where you sign in.',
    addressUnknown: 'No sign-in is configured for this address. Check it, or ask your administrator.',
    allow: 'Allow',
    deny: 'Deny',
  },
  goOn: {
    title: 'One moment',
    heading: 'You are being sent on',
    link: (host: string) => `Continue to ${host}`,
  },
  failed: {
    title: 'Sign-in failed',
    heading: 'This did not work',
    back: 'Close this page and start again in your client.',
    expired: 'This sign-in has expired, was finished already, or began in another browser.',
    unavailable: 'The sign-in service of your organization does not answer. Try again in a moment.',
    crossSite: 'Another site sent this form.',
    tooMany: 'Too many sign-ins began at this network address. Try again in a minute.',
  },
  signOut: {
    title: 'Sign out',
    heading: 'Do you want to sign out?',
    note: 'Clients that you allowed to act for you lose their access too.',
    confirm: 'Sign out',
    stay: 'Stay signed in',
  },
  signedOut: {
    title: 'Signed out',
    heading: 'You are signed out',
    note: 'You can close this page.',
  },
} as const;

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3600)} hours`;
}
