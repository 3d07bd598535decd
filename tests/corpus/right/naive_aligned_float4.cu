__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    if (Width % 4 == 0) {
        const float4* m4 = reinterpret_cast<const float4*>(M + row * Width);
        for (int q = 0; q < Width / 4; ++q) {
            float4 m = m4[q];
            const float* n = N + 4 * q * Width + col;
            sum += m.x * n[0];
            sum += m.y * n[Width];
            sum += m.z * n[2 * Width];
            sum += m.w * n[3 * Width];
        }
    } else {
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
    }
    P[row * Width + col] = sum;
}
