-- Expressions over the table `samples`, one a line, and whole queries; test_dialect_agrees.py runs each on Spark too.

-- numbers
7/2
7 / 0
i / j
i / 0
i div j
i div 0
-7 div 2
i % 3
-7 % 3
i % 0
d % 2
mod(i, 4)
pmod(-7, 3)
pmod(i, 3)
i + 1
b + 1
b - 1
i * 2
j - 5
-i
- -7
2147483647 + 1
2147483648
9223372036854775807
9223372036854775808
-2147483648
cast(2147483647 as int) * 2
1.5 + 2
1.5 * 2.25
n + m
n - m
n * m
n + 1
n * 2
i + n
m + j
n % 3
n / 3
n / 2.5
7.5 / 2
i / n
m / n
n / 0
d / 3
d + n
d * 2
i + d
1e3
1.5D
2L + 3
12BD
0.1 + 0.2
0.1D + 0.2D
abs(i)
abs(n)
abs(d)
ceil(d)
floor(d)
ceil(n)
floor(-1.5)
ceil(2.1)
round(2.5)
round(-2.5)
round(2.5D)
round(-2.5D)
round(3.5D)
round(0.5D)
round(2.675D, 2)
round(1.005D, 2)
round(d, 1)
round(n, 1)
round(n)
round(m, 2)
round(i)
round(i, 2)
sqrt(16)
sqrt(d)
sqrt(-1)
ln(10)
log(10)
log(2, 8)
log(0)
log(-1)
log10(1000)
log10(0)
log2(8)
exp(1)
pow(2, 10)
power(d, 2)
sign(i)
signum(d)
sign(n)
negative(i)
isnan(d)
isnan(sqrt(-1))
sqrt(-1) = sqrt(-1)
sqrt(-1) > 1e300
greatest(1, null, 3)
least(i, j)
greatest(n, 5)
greatest(d, i)
greatest('a', s)
least(day, date '2000-01-01')
-- comparisons and conditions
i = 7
i <> 7
i != 7
i < j
i >= j
i <=> null
i <=> j
i is null
i is not null
i is distinct from j
i is not distinct from null
i between 0 and 10
i not between 0 and 10
i in (1, 5, 7)
i in (1, null)
i not in (1, null)
i not in (1, 2)
s in ('x', 'Hello World')
not flag
flag and i > 0
flag or i > 0
flag is true
flag is not true
flag is false
null and false
null or true
i = 7L
i = 7.0
n = 12.35
n > m
d = 0.1
d = n
i = '7'
num = 42
s = 'Hello World'
s < 'M'
s > t
day = '2026-01-31'
day >= '2000-01-01'
ts > '2026-01-01'
ts >= '2026-01-31 10:20:30.123456'
ts < '2026-01-31T12:00:00+02:00'
ts > day
ts = timestamp '2000-01-01 00:00:00'
day = date '2026-01-31'
if(i > 0, 'up', 'down')
if(i > 0, 1, 2.5)
if(flag, i, null)
case when i > 0 then 'a' when i < 0 then 'b' end
case i when 7 then 'seven' when 5 then 'five' else 'other' end
case when flag then i else b end
case when i > 0 then n else 0 end
coalesce(i, 0)
coalesce(null, s, 'x')
coalesce(n, 1)
nvl(s, 'none')
nvl2(s, 1, 2)
ifnull(i, j)
nullif(i, 7)
nullif(s, '')
isnull(s)
isnotnull(s)
-- texts
concat('a', null)
concat(s, '-', t)
concat(s, i)
concat(day, '!')
concat()
s || t
s || null
i || ''
concat_ws(',', s, null, t)
concat_ws('-', 'a', i)
length(s)
char_length(t)
length('')
upper(s)
lower(s)
upper('straße')
lower('ÀÉ')
initcap('hello wORLD  x')
initcap(t)
substring(s, 0, 2)
substring(s, 1, 3)
substring(s, 2)
substring(s, -3)
substring(s, -3, 2)
substring(s, -100, 98)
substring(s, -100, 102)
substring(s, 3, 0)
substring(s, 3, -1)
substring(s, 100, 5)
substr(s, 2, 2)
substring(s from 2 for 3)
left(s, 3)
left(s, -1)
right(s, 3)
right(s, 0)
right(s, 100)
trim(s)
ltrim(s)
rtrim(s)
trim(both 'x' from 'xxaxx')
trim(leading 'x' from 'xxaxx')
trim(trailing 'x' from 'xxaxx')
trim('	a ')
btrim('  a ')
lpad(s, 5, '*')
lpad(num, 5, '0')
rpad(s, 3)
rpad(t, 20, 'ab')
repeat('ab', 2)
repeat(s, 0)
repeat('a', -1)
replace(s, 'l', 'L')
replace(t, ',')
reverse('abc')
reverse(num)
instr(s, 'o')
instr(s, '')
locate('o', s)
locate('日', s)
position('o' in s)
position('o', s)
split(t, ',')
split(t, '')
split('a1b22c', '[0-9]+')
split('a.b', '\\.')
split(',a,', ',')
split_part(t, ',', 2)
split_part(t, ',', -1)
split_part('abc', ',', 2)
startswith(s, 'H')
endswith(s, 'd')
contains(s, 'lo')
s like 'H%'
s like '%o_l%'
s not like 'H%'
t like '%100\\%%'
t like '%100!%%' escape '!'
t like '%\\_%'
s ilike 'hello%'
s rlike 'o.W'
s rlike '^Hello'
s rlike 'World$'
t rlike '\\d+'
t rlike '^[a-z]+(,[a-z]*)*$'
regexp_like(t, 'ab|cd')
regexp_replace(t, '[0-9]+', '#')
regexp_replace(t, '([a-z])([0-9])', '$2$1')
regexp_replace('aaa', 'a', 'b')
regexp_replace(s, '\\s+', '_')
regexp_extract(t, '([a-z]+)([0-9]+)', 2)
regexp_extract(t, '([a-z]+)([0-9]+)')
regexp_extract(t, '[0-9]+', 0)
regexp_extract('a\nb', 'a.b', 0)
regexp_extract('foo', '(x)?foo', 1)
md5(s)
sha2(s, 256)
'it''s'
'it\'s'
'tab\there'
'back\\slash'
'100\%'
r'\d'
"double"
'a' 'b'
string(i)
-- casts
cast('42' as int)
cast(' 42 ' as int)
cast('+5' as bigint)
cast('4.5' as int)
cast('x' as int)
cast('' as int)
cast('99999999999' as int)
cast(num as int)
int(num)
cast('1.5' as double)
cast('1e3' as double)
cast('.5' as double)
cast('x' as double)
cast('1.005' as decimal(10,2))
cast('-1.005' as decimal(10,2))
cast(' 12 ' as decimal(5,1))
cast('123456' as decimal(5,1))
cast(s as boolean)
cast('yes' as boolean)
cast('T' as boolean)
cast('0' as boolean)
cast(i as string)
cast(b as string)
cast(flag as string)
cast(n as string)
cast(m as string)
cast(0.00 as string)
cast(day as string)
cast(ts as string)
cast(2.7D as int)
cast(-2.7D as int)
cast(1e20 as bigint)
cast(n as int)
cast(-2.5 as int)
cast(m as decimal(5,1))
cast(n as decimal(20,4))
cast(n as decimal(4,2))
cast(n as double)
cast(m as double)
cast(i as double)
cast(i as decimal(12,2))
cast(b as int)
cast(300 as tinyint)
cast(i as boolean)
cast(flag as int)
cast('2026-01-31' as date)
cast('2026-1-3' as date)
cast('2026-02-30' as date)
cast('x' as date)
cast('2026-01-31 10:00:00' as timestamp)
cast('2026-01-31T10:00:00Z' as timestamp)
cast('2026-01-31T10:00:00.5+02:00' as timestamp)
cast(concat('2026-01-0', 5) as date)
cast(concat('2026-01-05', 'T10:00:00+01:00') as timestamp)
cast(concat('2026-01-05 10:00:00', '.25') as timestamp)
cast(day as timestamp)
cast(ts as date)
cast(ts as bigint)
cast(0 as timestamp)
cast(-1 as timestamp)
try_cast('x' as int)
try_cast('7' as int)
try_cast(b as int)
try_cast(num as bigint)
try_cast(t as int)
i::string
'5'::int
-- dates and times
date '2026-01-31'
timestamp '2026-01-31 10:00:00'
year(day)
quarter(day)
month(ts)
day(day)
dayofmonth(ts)
dayofweek(day)
weekday(day)
dayofyear(day)
weekofyear(day)
hour(ts)
minute(ts)
second(ts)
hour(day)
extract(year from day)
extract(month from ts)
extract(week from day)
extract(dayofweek from day)
extract(doy from day)
extract(hour from ts)
extract(minute from ts)
date_add(day, 1)
date_add(day, i % 10)
date_add('2026-01-31', 1)
date_sub(day, 31)
day + 1
day - 1
datediff(day, date '2026-01-01')
datediff(ts, day)
date_diff(day, '2026-01-01')
add_months(day, 1)
add_months(day, -1)
add_months(date '2026-02-28', 1)
date_trunc('month', ts)
date_trunc('WEEK', ts)
date_trunc('hour', ts)
date_trunc('quarter', day)
date_trunc('day', ts)
date_trunc('second', ts)
trunc(day, 'MM')
trunc(day, 'week')
trunc(ts, 'year')
ts + interval 1 day
ts - interval 2 hours
ts + interval 90 minutes
ts + interval 1 month
ts - interval 5 seconds
day + interval 1 day
day + interval 1 month
day - interval 1 year
date_format(ts, 'yyyy-MM-dd HH:mm:ss')
date_format(ts, 'dd/MM/yyyy')
date_format(ts, 'yyyy-MM-dd''T''HH:mm:ss.SSS')
date_format(ts, 'yyyy-MM-dd''T''HH:mm:ss.SSSSSS')
date_format(ts, 'M/d H:m:s')
date_format(day, 'E EEE EEEE')
date_format(ts, 'MMM MMMM')
date_format(ts, 'hh:mm a')
date_format(day, 'yyyyMMdd')
to_date('2026-01-31')
to_date(ts)
to_date('31.01.2026', 'dd.MM.yyyy')
to_date('20260131', 'yyyyMMdd')
to_date('2026-02-30', 'yyyy-MM-dd')
to_date('x', 'yyyy-MM-dd')
to_date('2026-1-3', 'yyyy-MM-dd')
to_timestamp('2026-01-31 10:20:30')
to_timestamp('31/01/2026 10:20', 'dd/MM/yyyy HH:mm')
to_timestamp('x', 'yyyy-MM-dd HH:mm:ss')
unix_timestamp(ts)
unix_seconds(ts)
unix_millis(ts)
unix_micros(ts)
unix_date(day)
from_unixtime(0)
from_unixtime(1769854830)
timestamp_seconds(1769854830)
timestamp_millis(-1)
timestamp_micros(b)
make_date(2026, 1, 31)
make_date(2026, 2, 30)
ts = ts
ts
day
-- structs, arrays, maps
st.name
ST.Name
st.QTY
samples.st.qty + 1
st.at
st
items.name
items[0].name
items[0].ID
tags[0]
tags[5]
tags[-1]
nums[1]
get(tags, 0)
get(tags, 9)
element_at(array(1, 2, 3), 1)
element_at(array(1, 2, 3), -1)
element_at(tags, 1)
element_at(tags, 0)
element_at(attrs, 'k')
attrs['k']
attrs['nope']
size(tags)
cardinality(tags)
array_size(nums)
size(attrs)
array(1, 2)
array(1, null)
array(1, 2.5)
array(s, t)
array_contains(nums, 5)
array_contains(nums, 1)
array_contains(tags, 'y')
array_position(nums, 1)
array_join(tags, '-')
array_max(nums)
array_min(nums)
sort_array(nums)
sort_array(nums, false)
sort_array(tags)
concat(tags, array('z'))
transform(nums, x -> x + 1)
transform(items, x -> x.name)
transform(nums, x -> concat(s, x))
filter(nums, x -> x > 1)
filter(tags, x -> x is not null)
map('a', 1, 'b', 2)
map_keys(attrs)
map_values(attrs)
map_contains_key(attrs, 'k')
named_struct('a', 1, 'b', s)
struct(i, s)
named_struct('A', 1).a
tags
nums
items
attrs
-- what another dialect takes for something else
I + J
`i` + 1
SAMPLES.I
current_date() >= date '2020-01-01'
now() > timestamp '2020-01-01 00:00:00'
bigint('12')
double('1.5')
date('2026-01-31')
boolean('true')
-- queries
select id from samples order by s, id
select id from samples order by s desc, id
select id from samples order by i nulls last, id
select id from samples order by d desc nulls first, id
select count(*) as n, count(i) as c, count(distinct j) as u, count(distinct i, j) as p from samples
select sum(i) as a, sum(n) as b, avg(i) as c, min(s) as d, max(day) as e, min(flag) as f, sum(d) as g from samples
select sum(b) from samples
select max(ts) as a, min(n) as b, count_if(i > 0) as c, bool_and(flag) as e, bool_or(flag) as g from samples
select avg(n) as a from samples
select sum(i) filter (where i > 0) as a, count(*) filter (where flag) as b from samples
select sum(distinct j) as a, avg(distinct j) as b from samples
select j, count(*) as n from samples group by j order by j
select j as k, count(*) as n from samples group by k order by k
select j, count(*) as n from samples group by 1 order by 1
select j % 2 as odd, count(*) as n from samples group by j % 2 order by odd
select j % 2 as odd, count(*) + 1 as n from samples group by odd order by 2, 1
select i / j as r, count(*) as n from samples where j <> 0 group by i / j order by r
select j, count(*) as c from samples group by j having c > 1 order by j
select j, sum(i) as total from samples group by j having sum(i) > 0 order by total
select count(*) as n from samples having count(*) > 100
select sum(i) as a from samples where false
select count(*) as n from samples where false
select i + 1 as x, x * 2 as y from samples where i is not null and i < 100 order by y
select ID, I from samples where ID < 3 order by ID
select s.id from samples as s where s.i = 7
select samples.* from samples order by id limit 2
select * except (items, attrs, st) from samples order by id
select distinct j from samples order by j
select distinct flag, j from samples order by flag desc, j
select id from samples order by id limit 2 offset 1
select a.id, b.id as other from samples a join samples b on a.j = b.j and a.id < b.id order by 1, 2
select a.id, b.id as other from samples a left join samples b on a.id = b.id + 1 order by a.id
select id, a.i, b.s from samples a join samples b using (id) order by id
select id from samples a right join (select id + 3 as id from samples) b using (id) order by id
select id from samples a full join (select id + 3 as id from samples) b using (id) order by id
select id from samples a left semi join (select j from samples) b on a.id = b.j order by id
select id from samples a left anti join (select j from samples where j is not null) b on a.id = b.j order by id
select count(*) as n from samples a cross join samples b
select count(*) as n from samples a, samples b where a.id = b.id
select id from samples where id in (select j from samples) order by id
select id from samples where id not in (select j from samples) order by id
select id from samples where id not in (select j from samples where j is not null) order by id
select id from samples a where exists (select 1 from samples b where b.j = a.id) order by id
select id, (select max(j) from samples b where b.id < a.id) as m from samples a order by id
select id from samples where i > (select avg(j) from samples) order by id
with x as (select id, i from samples), y as (select id from x where i > 0) select count(*) as n from y join x using (id)
with x (a, b) as (select id, i from samples) select a, B from x order by a
select a from (select id as a from samples) where a > 2 order by a
select v.a from (select id from samples) as v (a) order by a
select id from samples union all select j from samples order by id
select id from samples union select j from samples order by 1
select id from samples intersect select j from samples order by 1
select id from samples except select j from samples order by 1
select id from samples union all select n from samples order by 1
select 1 as a union all select 2.5 order by a
select null as a union all select 1 order by a
select id, row_number() over (order by s, id) as n from samples order by id
select id, rank() over (order by j) as r, dense_rank() over (order by j) as e from samples order by id
select id, lag(id) over (order by id) as a, lead(id, 2, 0) over (order by id) as b from samples order by id
select id, sum(j) over (order by id) as a, sum(j) over () as b from samples order by id
select id, sum(id) over (order by j) as a from samples order by id
select id, count(*) over (partition by j) as a, max(id) over (partition by j order by id desc) as b from samples order by id
select id, sum(id) over (order by id rows between 1 preceding and current row) as a from samples order by id
select id, first_value(id) over (order by s desc, id) as a, last_value(id) over (order by id) as b from samples order by id
select id, ntile(2) over (order by id) as a, percent_rank() over (order by id) as b, cume_dist() over (order by j) as c from samples order by id
select j, sum(count(*)) over (order by j) as a from samples group by j order by j
select j, rank() over (order by count(*) desc) as a from samples group by j order by j
select j, sort_array(collect_list(id)) as a, size(collect_set(flag)) as b from samples group by j order by j
select date_trunc('year', ts) as y, count(*) as n from samples group by date_trunc('year', ts) order by y
select case when i > 0 then 'up' else 'down' end as k, count(*) as n from samples group by k order by k
select upper(s) as u from samples where u is not null
select st.name as name, items[0].id as first from samples where st.qty > 1 order by name
select nope from samples
select id from samples where i
select id, count(*) as n from samples
select id + 'a' as v from samples
select i as a, i as b from samples order by a desc, b limit 1
select t1.i from samples t1 where t1.i > 0 order by t1.i desc
select abs(i) as i from samples where id in (1, 2) order by i, id
select -i as i from samples where i = 7
select j as i, count(*) as n from samples group by i order by i, n
select 1 as one where 1 = 1
select id from samples where s = 'it''s' or t = "x"
n * n
n * n * n
log(1, 10)
1e308 * 10
exp(1000)
struct(1, 'a').col1
select id from samples where id in (select j from samples) and i > 0 order by id
select distinct j from samples order by j
-- left to Spark
percentile_approx(i, 0.5)
cast(d as string)
concat(d, '')
ts - ts
day - day
rand()
to_json(st)
from_json('{}', 'a int')
get_json_object(s, '$.a')
s rlike '(?i)hello'
s rlike 'a(?=b)'
s rlike '(a)\\1'
s rlike '\\bWorld'
date_format(ts, 'D')
date_format(ts, 'yy')
to_date('31 Jan 2026', 'dd MMM yyyy')
months_between(ts, day)
cast('P' as binary)
hash(s)
soundex(s)
n * cast(1 as decimal(38,10))
stddev(i)
explode(tags)
st = st
aggregate(nums, 0, (a, x) -> a + x)
array_distinct(nums)
levenshtein(s, t)
split(t, ',', 2)
hex(i)
extract(second from ts)
d::string
select first(i) as a from samples
select collect_list(i) as a from samples
select id from samples group by rollup (id)
select id from samples tablesample (10 percent)
select explode(tags) as tag from samples
select id from samples lateral view explode(tags) as tag
select * from range(3)
select * from values (1, 2) as v (a, b)
select id from samples qualify row_number() over (order by id) = 1
select id from samples natural join samples
select id from samples order by st
select id from samples sort by id
i in (select j from samples)
try_cast(1e20 as int)
dateadd(month, 1, day)
datediff(month, day, ts)
select id from samples where id in (select j from samples) is null
select distinct j from samples order by j + 1
select id from samples order by null, id
select id, lag(i, 2, 0L) over (order by id) as a from samples order by id
select st.* from samples order by id
