__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width || col >= Width) return;
    float sum = 0.0f, lost = 0.0f;
    for (int k = 0; k < Width; ++k) {
        float term = __fsub_rn(__fmul_rn(M[row * Width + k], N[k * Width + col]), lost);
        float next = __fadd_rn(sum, term);
        lost = __fsub_rn(__fsub_rn(next, sum), term);
        sum = next;
    }
    P[row * Width + col] = sum;
}
