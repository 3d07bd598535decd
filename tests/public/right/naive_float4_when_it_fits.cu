__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;

    float sum = 0.0f;
    int k = 0;
    if (Width % 4 == 0) {
        const float4* quad = reinterpret_cast<const float4*>(M + row * Width);
        for (; k < Width; k += 4) {
            float4 q = quad[k / 4];
            sum += q.x * N[k * Width + col];
            sum += q.y * N[(k + 1) * Width + col];
            sum += q.z * N[(k + 2) * Width + col];
            sum += q.w * N[(k + 3) * Width + col];
        }
    }
    for (; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    P[row * Width + col] = sum;
}
