import { decides } from './decides.ts';

decides(
  'conditions on arguments come after claims and before scopes',
  {
    scope: 'read',
    tools: {
      pay: {
        scope: 'payments',
        claims: { role: 'trader' },
        arguments: { '/amount': { at_most: 1000 }, '/to/0/iban': { matches: '^SE' }, '/test': { present: false } },
        max_lifetime: '1h',
      },
    },
  },
  `
read payments {"role":"trader"} | call pay {"amount":1000,"to":[{"iban":"SE1"}]} → allow tools.pay
read payments {"role":"trader"} | call pay {"amount":1001,"to":[{"iban":"SE1"}]} → deny argument.denied tools.pay.arguments./amount
read {"role":"trader"} | call pay {"amount":1001} → deny argument.denied tools.pay.arguments./amount
{"role":"trader"} | call pay {"amount":1001} → deny argument.denied tools.pay.arguments./amount
{"role":"trader"} for null | call pay {"amount":1001} → deny argument.denied tools.pay.arguments./amount
read payments | call pay {"amount":1001} → deny claim.denied tools.pay.claims.role
{"role":"trader"} | call pay {"amount":1,"to":[{"iban":"SE1"}]} → deny scope.insufficient scope [read payments]
{"role":"trader"} | call pay {"amount":"1"} → deny argument.denied tools.pay.arguments./amount
{"role":"trader"} | call pay {"amount":1,"to":["SE1"]} → deny argument.denied tools.pay.arguments./to/0/iban
{"role":"trader"} | call pay {"amount":1,"to":[{"iban":"SE1"}],"test":1} → deny argument.denied tools.pay.arguments./test
{"role":"trader"} | call pay / pay null / pay [] / pay "amount" / pay 7 → deny argument.denied tools.pay.arguments./amount
read payments {"role":"trader"} | call pay {"amount":1,"to":[{"iban":"SE${'1'.repeat(5000)}"}]} → deny policy.error policy`,
);

decides(
  'R-92: no value of another type, and nothing on the way, gets round a condition that excludes something',
  {
    tools: {
      pay: { arguments: { '/amount': { not: { above: 1000 } }, '/options/as_admin': { present: false } } },
      show: { arguments: { '/options/as_admin': { not: true } } },
      list: { arguments: { '/tags': { not: { contains: 'secret' } }, '/owner': { not: { matches: '^root' } } } },
      count: { arguments: { '/n': { not: { integer: true, at_least: 10 } } } },
    },
  },
  String.raw`
call pay / pay {} / pay {"amount":1000} / pay {"options":null} → allow tools.pay
call pay {"options":{}} / pay {"options":{"as_admin":null}} → allow tools.pay
call pay {"amount":"5000"} / pay {"amount":"1"} / pay {"amount":[5000]} → deny argument.denied tools.pay.arguments./amount
call pay {"amount":null} / pay {"amount":{"value":5000}} → deny argument.denied tools.pay.arguments./amount
call pay {"amount":{"valueOf":5000}} / pay {"amount":true} → deny argument.denied tools.pay.arguments./amount
call pay {"amount":5000} / pay {"amount":1e999} → deny argument.denied tools.pay.arguments./amount
call pay "{\"amount\":5000}" / pay ["amount",5000] → deny argument.denied tools.pay.arguments./amount
call pay {"options":"{\"as_admin\":true}"} → deny argument.denied tools.pay.arguments./options/as_admin
call pay {"options":[["as_admin",true]]} → deny argument.denied tools.pay.arguments./options/as_admin
call pay {"options":["as_admin"]} → deny argument.denied tools.pay.arguments./options/as_admin
call pay {"options":[{"as_admin":true}]} → deny argument.denied tools.pay.arguments./options/as_admin
call pay {"options":7} / pay {"options":true} → deny argument.denied tools.pay.arguments./options/as_admin
call pay {"options":{"as_admin":true}} → deny argument.denied tools.pay.arguments./options/as_admin
call show {"options":{"as_admin":false}} → allow tools.show
call show {"options":"{\"as_admin\":true}"} → deny argument.denied tools.show.arguments./options/as_admin
call show {"options":[{"as_admin":true}]} → deny argument.denied tools.show.arguments./options/as_admin
call show {"options":{"as_admin":"true"}} → deny argument.denied tools.show.arguments./options/as_admin
call show {"options":{"as_admin":1}} → deny argument.denied tools.show.arguments./options/as_admin
call show {"options":{"as_admin":[true]}} → deny argument.denied tools.show.arguments./options/as_admin
call list {"tags":["public"],"owner":"alice"} → allow tools.list
call list {"tags":"secret"} / list {"tags":"a,secret"} → deny argument.denied tools.list.arguments./tags
call list {"tags":[["secret"]]} / list {"tags":{"0":"secret"}} → deny argument.denied tools.list.arguments./tags
call list {"owner":["root"]} → deny argument.denied tools.list.arguments./owner
call count {"n":9} / count {"n":"9"} → allow tools.count
call count {"n":"10.0"} / count {"n":"0x10"} / count {"n":[10]} → deny argument.denied tools.count.arguments./n
call count {"n":10} / count {"n":"10"} → deny argument.denied tools.count.arguments./n`,
);

decides(
  'an argument is own, or missing',
  { tools: { t: { arguments: { '/constructor': { present: true } } } } },
  `
call t {"constructor":1} → allow tools.t
call t {} → deny argument.denied tools.t.arguments./constructor`,
);
