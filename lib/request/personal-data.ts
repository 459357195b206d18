/** What a text seems to hold that names a person, or undefined. */
export function personalDataIn(text: string): string | undefined {
  if (EMAIL.test(text)) return 'an e-mail address';
  if (hasPhoneNumber(text)) return 'a phone number';
  if (hasCardNumber(text)) return 'the number of a payment card';
  if (hasIban(text)) return 'an IBAN';
  return undefined;
}

const EMAIL = /[^\s@]@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}/i;

/**
 * With its plus sign, and nothing joined to it: a number alone may be any id, and
 * the plus sign is a letter of base64.
 */
const PHONE = /(?<![\w/=])\+\d[\d().-]{5,}\d(?![\w+/=])/g;

function hasPhoneNumber(text: string): boolean {
  return (text.match(PHONE) ?? []).some((found) => {
    const digits = found.replaceAll(/\D/g, '').length;
    return digits >= 8 && digits <= 15;
  });
}

/** Of the brands that are in use: 14 digits and more have many other meanings. */
const CARD =
  /^(?:4\d{15}(?:\d{3})?|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|3[47]\d{13}|3[068]\d{12}|6(?:011|4[4-9]\d|5\d\d)\d{12})$/;

/** Digits, alone or in groups. */
const DIGITS = /(?<![\w])\d(?:[ .-]?\d){12,18}(?![\w])/g;

function hasCardNumber(text: string): boolean {
  return (text.match(DIGITS) ?? []).some((found) => {
    const digits = found.replaceAll(/\D/g, '');
    return CARD.test(digits) && isLuhn(digits);
  });
}

/** The check digit of card numbers. */
function isLuhn(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of digits.split('').toReversed().entries()) {
    const doubled = Number(digit) * (index % 2 === 1 ? 2 : 1);
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

const IBAN = /(?<![a-z0-9])[a-z]{2}\d{2}[a-z0-9]{11,30}(?![a-z0-9])/gi;

function hasIban(text: string): boolean {
  return (text.match(IBAN) ?? []).some(isIban);
}

/** Its check digits, by ISO 7064: letters count as two digits, and the rest by 97 has to be 1. */
function isIban(text: string): boolean {
  const moved = text.slice(4) + text.slice(0, 4);
  const digits = moved.replaceAll(/[a-z]/gi, (letter) => String(Number.parseInt(letter, 36)));
  let rest = 0;
  for (const digit of digits) rest = (rest * 10 + Number(digit)) % 97;
  return rest === 1;
}
