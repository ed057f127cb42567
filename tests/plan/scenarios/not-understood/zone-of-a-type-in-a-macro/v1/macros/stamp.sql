create temporary function stamp(v string) returns string return cast(cast(v as timestamp) as string)
