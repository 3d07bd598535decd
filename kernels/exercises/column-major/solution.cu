// Matrix multiplication, P = M * N, for a column-major N: one thread computes one element of P.
//
// Element (k, col) of N is N[col * Width + k]. The threads of a warp differ in Col, so they read addresses that are
// Width elements apart. The product is correct, but the access is as far from coalesced as it can be.

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    int Col = blockIdx.x * blockDim.x + threadIdx.x;

    if (Row < Width && Col < Width) {
        float Pvalue = 0.0f;
        for (int k = 0; k < Width; ++k) {
            Pvalue += M[Row * Width + k] * N[Col * Width + k];
        }
        P[Row * Width + Col] = Pvalue;
    }
}
