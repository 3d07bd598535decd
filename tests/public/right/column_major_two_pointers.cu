__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int const r = threadIdx.y + blockDim.y * blockIdx.y;
    int const c = threadIdx.x + blockDim.x * blockIdx.x;
    if (r >= Width || c >= Width) return;
    float const* m = &M[r * Width];
    float const* n = &N[c * Width];
    float const* const end = m + Width;
    float dot = 0.0f;
    do { dot += *m++ * *n++; } while (m != end);
    P[r * Width + c] = dot;
}
