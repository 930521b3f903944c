// The key that verifies licenses. A vendor builds with the public half of its own key pair (ANNAL_VENDOR_KEY, set by
// tsup.config.ts), and such a build accepts no other key.

declare const ANNAL_VENDOR_KEY: string | undefined

/** Undefined in a build without a vendor, and when the sources run directly. */
export const vendorPublicKey = typeof ANNAL_VENDOR_KEY === 'string' ? ANNAL_VENDOR_KEY : undefined

/**
 * Without a vendor, a key whose private half does not exist: no license is valid until NDD_LICENSE_PUBLIC_KEY replaces the key.
 */
export const builtInPublicKey = vendorPublicKey ?? 'h54gwqyvEdzVhrP3wk5DceLbZXknfXOVzWgHK2hyYN4'
