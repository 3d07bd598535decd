// Choices that this browser remembers.

export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // no storage
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // as above
  }
}
