template <int N> struct Down { static const int value = Down<N + 1>::value; };
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = Down<0>::value; }
