// The key that licenses are checked with. Whoever sells licenses builds with the public half of a pair of their own
// (ANNAL_VENDOR_KEY, put in by tsup.config.ts), and such a build takes no other.

declare const ANNAL_VENDOR_KEY: string | undefined

/** Undefined in a build that has no vendor, and where the sources run as they are. */
export const vendorPublicKey = typeof ANNAL_VENDOR_KEY === 'string' ? ANNAL_VENDOR_KEY : undefined

/** Without a vendor: a key whose private half nobody has, so that nothing fits it; NDD_LICENSE_PUBLIC_KEY puts another in its place. */
export const builtInPublicKey = vendorPublicKey ?? 'h54gwqyvEdzVhrP3wk5DceLbZXknfXOVzWgHK2hyYN4'
