template <int A, int B> struct Grow { enum { value = (Grow<A - 1, B * 2>::value + Grow<A - 1, B * 2 + 1>::value) & 1 }; };
template <int B> struct Grow<0, B> { enum { value = B & 1 }; };
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = Grow<24, 1>::value; }
