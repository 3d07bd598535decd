__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) {
    int r = threadIdx.y + blockIdx.y * blockDim.y;
    int c = threadIdx.x + blockIdx.x * blockDim.x;
    if (r < Width && c < Width) {
        float acc = 0.f;
        float *a = M + r * Width, *end = a + Width, *b = N + c;
        while (a != end) {
            acc += *a++ * *b;
            b += Width;
        }
        P[r * Width + c] = acc;
    }
}
